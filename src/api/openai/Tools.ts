import { Schema } from "effect"
import { ProjectId } from "../../domain/Ids.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { inSteps } from "../ReadInSteps.ts"
import { FunctionName, JsonObject, maybe, unsupported } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"

/** The tools that a request may have, and the choice among them. */

const toolsMax = 128

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  name: FunctionName,
  description: maybe(StorableText),
  parameters: maybe(JsonObject),
  strict: maybe(Schema.Boolean)
})

export const webSearchTypes = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11"
] as const

const WebSearchTool = Schema.Struct({
  type: Schema.Literals(webSearchTypes),
  /** False forbids the way to the web, and leaves nothing to search. */
  external_web_access: maybe(Schema.Boolean),
  search_context_size: maybe(Schema.Literals(["low", "medium", "high"])),
  filters: unsupported("searches can't be filtered"),
  user_location: unsupported("searches have no place")
})

const oneProject = "a list with the id of one project, such as `vs_…`"

const FileSearchTool = Schema.Struct({
  type: Schema.Literal("file_search"),
  vector_store_ids: Schema.Array(givenId(ProjectId, "vectorStore"))
    .annotate({ expected: oneProject })
    .check(Schema.isMinLength(1, { expected: oneProject }), Schema.isMaxLength(1, { expected: oneProject })),
  filters: unsupported("searches can't be filtered"),
  max_num_results: unsupported("the service bounds the results by the model's window"),
  ranking_options: unsupported("the service ranks the results by itself")
})

const Tool = Schema.Union([FunctionTool, WebSearchTool, FileSearchTool]).annotate({
  expected: "a tool of the type function, web_search or file_search; this service has no others"
})
export type Tool = typeof Tool.Type

const hasOneSearch = (tools: ReadonlyArray<Tool>): boolean =>
  tools.filter(({ type }) => type === "file_search").length <= 1

const hasOwnNames = (tools: ReadonlyArray<Tool>): boolean => {
  const names = tools.flatMap((tool) => (tool.type === "function" ? [tool.name] : []))
  return new Set(names).size === names.length
}

export const Tools = Schema.Array(inSteps(Tool)).check(
  Schema.makeFilter(hasOneSearch, { expected: "a list with one file_search tool at most" }),
  Schema.makeFilter(hasOwnNames, { expected: "a list of functions with different names" }),
  Schema.isMaxLength(toolsMax, { expected: `a list of at most ${toolsMax} tools` })
)

const AllowedTools = Schema.Struct({
  type: Schema.Literal("allowed_tools"),
  mode: Schema.Literals(["auto", "required"]),
  tools: Schema.Array(Schema.Struct({ type: Schema.String, name: Schema.optionalKey(Schema.String) }))
})

export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ type: Schema.Literal("function"), name: FunctionName }),
  Schema.Struct({ type: Schema.Literals([...webSearchTypes, "file_search"]) }),
  AllowedTools
]).annotate({
  expected:
    "auto, none, required, or an object of the type function, web_search, file_search or allowed_tools"
})
export type ToolChoice = typeof ToolChoice.Type
