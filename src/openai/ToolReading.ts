import type { CreateBody } from "../api/openai/CreateBody.ts"
import { webSearchTypes } from "../api/openai/Tools.ts"
import type { ToolChoice, ToolName, ToolSpec } from "../domain/ModelCall.ts"

/** From the tools of a request, and the choice among them, to what the core understands. */

export type Tools = NonNullable<CreateBody["tools"]>

const noParameters = { type: "object", properties: {} }

const functionsOf = (tools: Tools): ReadonlyArray<ToolSpec> =>
  tools.flatMap((tool, index) =>
    tool.type === "function"
      ? [
          {
            name: tool.name,
            description: tool.description ?? "",
            parameters: tool.parameters ?? noParameters,
            param: `tools[${index}].parameters`,
            ...(tool.strict === true ? { strict: true } : {})
          }
        ]
      : []
  )

export const isWebSearch = (type: string): boolean => webSearchTypes.some((known) => known === type)

export const hasWebSearch = (tools: ReadonlyArray<{ readonly type: string }>): boolean =>
  tools.some(({ type }) => isWebSearch(type))

const noTools: ReadonlySet<ToolName> = new Set<ToolName>()
const webTools: ReadonlySet<ToolName> = new Set<ToolName>(["web_search", "web_fetch"])
const offlineTools: ReadonlySet<ToolName> = new Set<ToolName>(["calculator", "current_datetime"])

const isOffline = (tools: Tools): boolean =>
  tools.some(
    (tool) => isWebSearch(tool.type) && "external_web_access" in tool && tool.external_web_access === false
  )

interface Chosen {
  readonly toolChoice?: ToolChoice
  readonly functions: ReadonlyArray<ToolSpec>
  /** null where the request leaves all of them. */
  readonly ownTools: ReadonlySet<ToolName> | null
}

/** The choice as a provider takes it, and the functions that it leaves. */
export const chosenTools = (choice: CreateBody["tool_choice"], tools: Tools): Chosen => {
  const functions = functionsOf(tools)
  const all = { functions, ownTools: isOffline(tools) ? offlineTools : null }
  if (choice == null) return all
  if (choice === "none") return { toolChoice: choice, functions, ownTools: noTools }
  // A client that demands a call waits for one of its own functions.
  if (choice === "required" && functions.length > 0)
    return {
      toolChoice: choice,
      functions,
      ownTools: hasWebSearch(tools) && !isOffline(tools) ? webTools : noTools
    }
  if (typeof choice === "string") return { ...all, toolChoice: choice }
  if (choice.type === "function") return { ...all, toolChoice: { name: choice.name } }
  if (choice.type === "allowed_tools") {
    const allowed = new Set(choice.tools.map(({ name }) => name))
    return {
      toolChoice: choice.mode,
      functions: functions.filter(({ name }) => allowed.has(name)),
      ownTools: hasWebSearch(choice.tools) ? webTools : noTools
    }
  }
  // The search of files always comes before the answer.
  return isWebSearch(choice.type) ? { ...all, toolChoice: { name: "web_search" } } : all
}

export const projectParamOf = (tools: Tools): string | null => {
  const index = tools.findIndex(({ type }) => type === "file_search")
  return index < 0 ? null : `tools[${index}].vector_store_ids[0]`
}

export const projectOf = (tools: Tools) =>
  tools.flatMap((tool) => (tool.type === "file_search" ? tool.vector_store_ids : []))[0]
