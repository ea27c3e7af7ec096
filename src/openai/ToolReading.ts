import type { CreateBody } from "../api/openai/CreateBody.ts"
import { flatName, isUnserved, type Tool, webSearchTypes } from "../api/openai/Tools.ts"
import type { ToolChoice, ToolName, ToolSpec } from "../domain/ModelCall.ts"
import type { FileSearch } from "../responses/prompt/ResponseRequest.ts"
import { clientTools } from "./ClientTools.ts"

/** From the tools of a request, and the choice among them, to what the core understands. */

export type Tools = ReadonlyArray<Tool>

export const isWebSearch = (type: string): boolean => webSearchTypes.some((known) => known === type)

export const hasWebSearch = (tools: ReadonlyArray<{ readonly type: string }>): boolean =>
  tools.some(({ type }) => isWebSearch(type))

type WithTools = Pick<CreateBody, "input" | "tools">

interface PlacedTool {
  readonly tool: Tool
  /** The place at which the request has it. */
  readonly place: string
}

const placed = (tools: Tools, list: string): ReadonlyArray<PlacedTool> =>
  tools.map((tool, index) => ({ tool, place: `${list}[${index}]` }))

/** All tools of a request, with those that its input adds. */
const placedTools = ({ input, tools }: WithTools): ReadonlyArray<PlacedTool> => {
  const given = placed(tools ?? [], "tools")
  const added =
    typeof input === "string"
      ? []
      : input.flatMap((item, index) =>
          item.type === "additional_tools" || item.type === "tool_search_output"
            ? placed(item.tools, `input[${index}].tools`)
            : []
        )
  if (added.length === 0) return given
  const all = [...given, ...added]
  // A client may add a tool again.
  const last = new Map(clientTools(all.map(({ tool }) => tool)).map(({ spec }) => [spec.name, spec.param]))
  const isLast = (spec: ToolSpec) => last.get(spec.name) === spec.param
  return all.flatMap(({ place, tool }, index) => {
    const own = clientTools([tool], "tools", index)
    if (own.every(({ spec }) => isLast(spec))) return [{ tool, place }]
    if (tool.type !== "namespace") return []
    const members = tool.tools.filter((_, at) => own.some(({ spec }, one) => one === at && isLast(spec)))
    return members.length === 0 ? [] : [{ tool: { ...tool, tools: members }, place }]
  })
}

export const toolsOf = (body: WithTools): Tools => placedTools(body).map(({ tool }) => tool)

const placeInAll = /^tools\[(\d+)\]/

/** Finds the place in the request of what a path names that begins with a place among all its tools. */
export const placeInRequest = (body: WithTools): ((param: string) => string) => {
  const places = placedTools(body).map(({ place }) => place)
  return (param) => param.replace(placeInAll, (all, index) => places[Number(index)] ?? all)
}

const noTools: ReadonlySet<ToolName> = new Set<ToolName>()
const webTools: ReadonlySet<ToolName> = new Set<ToolName>(["web_search", "web_fetch"])
const offlineTools: ReadonlySet<ToolName> = new Set<ToolName>(["calculator", "current_datetime"])

const isOffline = (tools: Tools): boolean =>
  tools.some((tool) => "external_web_access" in tool && tool.external_web_access === false)

/** The service's own tools that a request may use; null for all of them. */
const ownToolsOf = (
  own: CreateBody["own_tools"],
  tools: Tools,
  functions: ReadonlyArray<ToolSpec>
): ReadonlySet<ToolName> | null => {
  const offline = isOffline(tools)
  if (own === "off") return noTools
  if (own === "on" || functions.length === 0) return offline ? offlineTools : null
  return hasWebSearch(tools) && !offline ? webTools : noTools
}

interface Chosen {
  readonly toolChoice?: ToolChoice
  readonly functions: ReadonlyArray<ToolSpec>
  /** null where the request leaves all of them. */
  readonly ownTools: ReadonlySet<ToolName> | null
}

/**
 * The name by which models call what a choice or an allowed tool names; undefined where that isn't the
 * client's.
 */
const calledName = (named: {
  readonly type: string
  readonly name?: string
  readonly namespace?: string | null | undefined
}) => {
  const { name, namespace, type } = named
  if (type === "local_shell" || type === "shell" || type === "apply_patch") return type
  return name === undefined || namespace == null ? name : flatName(namespace, name)
}

/** The choice as a provider takes it, and the functions that it leaves. */
export const chosenTools = (
  { own_tools: own, tool_choice: choice }: Pick<CreateBody, "own_tools" | "tool_choice">,
  tools: Tools
): Chosen => {
  const functions = clientTools(tools).map(({ spec }) => spec)
  const all = { functions, ownTools: ownToolsOf(own, tools, functions) }
  const mayReadWeb = own !== "off" && !isOffline(tools)
  if (choice == null) return all
  if (choice === "none") return { toolChoice: choice, functions, ownTools: noTools }
  // A client that demands a call waits for one of its own functions.
  if (choice === "required" && functions.length > 0)
    return {
      toolChoice: choice,
      functions,
      ownTools: hasWebSearch(tools) && mayReadWeb ? webTools : noTools
    }
  if (typeof choice === "string") return { ...all, toolChoice: choice }
  if (choice.type === "allowed_tools") {
    const allowed = new Set(choice.tools.map(calledName))
    return {
      toolChoice: choice.mode,
      functions: functions.filter(({ name }) => allowed.has(name)),
      ownTools: hasWebSearch(choice.tools) && mayReadWeb ? webTools : noTools
    }
  }
  if (isWebSearch(choice.type))
    return { ...all, ownTools: mayReadWeb ? webTools : noTools, toolChoice: { name: "web_search" } }
  const name = calledName(choice)
  // The search of files always comes before the answer.
  return name === undefined ? all : { ...all, toolChoice: { name } }
}

/** The search of files that the tools ask for; null where none does. */
export const fileSearchOf = (tools: Tools): FileSearch | null => {
  const [found] = tools.flatMap((tool, index) => (tool.type === "file_search" ? [{ tool, index }] : []))
  if (found === undefined) return null
  const { filters, max_num_results, ranking_options, vector_store_ids } = found.tool
  return {
    projects: vector_store_ids.map((id, at) => ({
      id,
      param: `tools[${found.index}].vector_store_ids[${at}]`
    })),
    resultsMax: max_num_results ?? null,
    filter: filters ?? null,
    scoreMin: ranking_options?.score_threshold ?? 0
  }
}

/** The places of the tools that the service doesn't run. */
export const unservedTools = (tools: Tools): ReadonlyArray<string> =>
  tools.flatMap((tool, index) => (isUnserved(tool) ? [`tools[${index}]`] : []))
