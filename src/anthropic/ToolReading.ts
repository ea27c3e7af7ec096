import { Result } from "effect"
import type { DefinedTool, MessagesBody, Tool } from "../api/anthropic/MessagesBody.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import type { AnswerOptions, ToolChoice, ToolName, ToolSpec } from "../domain/ModelCall.ts"
import { given } from "../openai/RequestReading.ts"
import type { Demands } from "../responses/prompt/ResponseRequest.ts"
import { functionFor } from "./DefinedTools.ts"

/** From the tools of a request, and the choice among them, to what the core understands. */

interface ReadTools {
  readonly demands: Pick<Demands, "functions" | "ownTools" | "maxToolCalls">
  readonly options: Pick<AnswerOptions, "toolChoice" | "parallelToolCalls">
  /** The paths of what nothing is made of. */
  readonly unused: ReadonlyArray<string>
}

/** One tool as it was read. */
interface ReadTool {
  readonly name: string | null
  /** The tool for the client to run. */
  readonly spec: ToolSpec | null
  /** The tool for the service to run. */
  readonly own: ToolName | null
  readonly maxUses: number | null
  readonly unused: ReadonlyArray<string>
}

const isClients = (tool: Tool): tool is Extract<Tool, { readonly input_schema: unknown }> =>
  "input_schema" in tool

const ownNameOf = ({ type }: DefinedTool): ToolName | null => {
  if (/^web_search_\d+$/.test(type)) return "web_search"
  return /^web_fetch_\d+$/.test(type) ? "web_fetch" : null
}

/** Bounds that the service's own tools can't have. */
const bounds = ["allowed_domains", "blocked_domains", "user_location"] as const

const toolOf = (tool: Tool, index: number): ReadTool => {
  const path = `tools[${index}]`
  const none = { name: tool.name ?? null, spec: null, own: null, maxUses: null }
  if (isClients(tool)) {
    const { description, input_schema: parameters, name, strict } = tool
    const spec = { name, description: description ?? "", parameters, param: `${path}.input_schema` }
    // The strict modes of other providers refuse schemas that Anthropic takes.
    return { ...none, spec, unused: strict === true ? [`${path}.strict`] : [] }
  }
  const own = ownNameOf(tool)
  if (own !== null) {
    const unused = bounds.filter((bound) => tool[bound] != null).map((bound) => `${path}.${bound}`)
    return { ...none, name: own, own, maxUses: tool.max_uses ?? null, unused }
  }
  const definition = functionFor(tool)
  return definition === null
    ? { ...none, unused: [path] }
    : { ...none, name: definition.name, spec: { ...definition, param: path }, unused: [] }
}

const choiceOf = ({ tool_choice: choice }: MessagesBody): ToolChoice | null => {
  switch (choice?.type) {
    case "any":
      return "required"
    case "tool":
      return { name: choice.name }
    case "auto":
    case "none":
      return choice.type
    case undefined:
      return null
  }
}

/** The most calls of the web tools together; null where one of them has no bound. */
const maxCallsOf = (tools: ReadonlyArray<ReadTool>): number | null => {
  const own = tools.filter((tool) => tool.own !== null)
  const uses = own.flatMap(({ maxUses }) => maxUses ?? [])
  return own.length === 0 || uses.length < own.length ? null : uses.reduce((sum, one) => sum + one, 0)
}

export const readTools = (body: MessagesBody): Result.Result<ReadTools, InvalidRequest> => {
  const { tool_choice: choice } = body
  const tools = (body.tools ?? []).map(toolOf)
  const functions = tools.flatMap(({ spec }) => spec ?? [])
  const names = new Set<string>()
  const again = tools.findIndex(({ spec }) => spec !== null && names.size === names.add(spec.name).size)
  if (again >= 0) {
    const param = `tools[${again}].name`
    const message = `\`${param}\` is that of another tool. Give each tool a name of its own.`
    return Result.fail(new InvalidRequest({ param, message }))
  }
  const ownTools = new Set(choice?.type === "none" ? [] : tools.flatMap(({ own }) => own ?? []))
  const lacked = tools.find(({ name, own, spec }) => spec === null && own === null && name !== null)
  const isLacked = (name: string) => !tools.some((tool) => tool !== lacked && tool.name === name)
  if (choice?.type === "tool" && lacked?.name === choice.name && isLacked(choice.name)) {
    const message = "`tool_choice.name` names a tool that this service doesn't have. Leave it out."
    return Result.fail(new InvalidRequest({ param: "tool_choice.name", message }))
  }
  const isAlone =
    choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true ? false : null
  return Result.succeed({
    demands: {
      ...given({ functions: functions.length === 0 ? null : functions, maxToolCalls: maxCallsOf(tools) }),
      ownTools
    },
    options: given({ toolChoice: choiceOf(body), parallelToolCalls: isAlone }),
    unused: tools.flatMap(({ unused }) => unused)
  })
}
