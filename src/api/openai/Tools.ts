import { Hash, Predicate, Schema, SchemaTransformation } from "effect"
import { ProjectId } from "../../domain/Ids.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { inSteps } from "../ReadInSteps.ts"
import { Filters, ResultsMax } from "./AttributeFields.ts"
import { between, FunctionName, JsonObject, maybe, unsupported } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"

/** The tools that a request may have, and the choice among them. */

export const toolsMax = 512
/** The characters of all tools together, as JSON. */
export const toolsCharactersMax = 1024 * 1024

/** The fields of a function, which a chat has one level deeper. */
export const functionFields = {
  name: FunctionName,
  description: maybe(StorableText),
  parameters: maybe(JsonObject),
  strict: maybe(Schema.Boolean)
}

const FunctionTool = Schema.Struct({ type: Schema.Literal("function"), ...functionFields })
export type FunctionTool = typeof FunctionTool.Type

/** The fields of a grammar, which a chat has one level deeper. */
export const grammarFields = { syntax: Schema.Literals(["lark", "regex"]), definition: StorableText }

const TextFormat = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("grammar"), ...grammarFields })
]).annotate({ expected: "an object of the type text or grammar" })

/** A tool whose input is a text, and no JSON. */
const CustomTool = Schema.Struct({
  type: Schema.Literal("custom"),
  name: FunctionName,
  description: maybe(StorableText),
  format: maybe(TextFormat)
})
export type CustomTool = typeof CustomTool.Type

/** A container of tools, whose names are unique in it alone. */
const NamespaceTool = Schema.Struct({
  type: Schema.Literal("namespace"),
  name: FunctionName,
  description: maybe(StorableText),
  tools: Schema.Array(inSteps(Schema.Union([FunctionTool, CustomTool]))).annotate({
    expected: "a list of tools of the type function or custom"
  })
})

/** Tools that a client runs without describing them: the service describes them to the model. */
export const machineTypes = ["local_shell", "shell", "apply_patch"] as const
export type MachineType = (typeof machineTypes)[number]
const MachineTool = Schema.Struct({ type: Schema.Literals(machineTypes) })

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

/** Projects that one search is in. */
const storesMax = 8
const storesWords = `a list of 1 to ${storesMax} ids of projects, such as \`vs_…\``

const FileSearchTool = Schema.Struct({
  type: Schema.Literal("file_search"),
  vector_store_ids: Schema.Array(givenId(ProjectId, "vectorStore"))
    .annotate({ expected: storesWords })
    .check(
      Schema.isMinLength(1, { expected: storesWords }),
      Schema.isMaxLength(storesMax, { expected: storesWords })
    ),
  filters: maybe(Filters),
  max_num_results: maybe(ResultsMax),
  ranking_options: maybe(Schema.Struct({ score_threshold: maybe(between(0, 1)) }))
})

const servedTypes: ReadonlySet<unknown> = new Set<unknown>([
  "function",
  "custom",
  "namespace",
  ...machineTypes,
  ...webSearchTypes,
  "file_search"
])

/**
 * A tool that OpenAI runs and this service doesn't, such as `image_generation`: it is left out, and named in
 * a header.
 */
const Unserved = Schema.Struct({ type: Schema.Literal("unserved"), given: JsonObject })
type Unserved = typeof Unserved.Type
const UnservedTool = JsonObject.check(
  Schema.makeFilter(({ type }) => Predicate.isString(type) && !servedTypes.has(type), {
    expected: "a tool with a `type`"
  })
).pipe(
  Schema.decodeTo(
    Unserved,
    SchemaTransformation.transform({
      decode: (given) => ({ type: "unserved" as const, given }),
      encode: ({ given }) => given
    })
  )
)

export const isUnserved = (tool: unknown): tool is Unserved =>
  Predicate.hasProperty(tool, "type") && tool.type === "unserved" && Predicate.hasProperty(tool, "given")

const Tool = Schema.Union([
  FunctionTool,
  CustomTool,
  NamespaceTool,
  MachineTool,
  WebSearchTool,
  FileSearchTool,
  UnservedTool
]).annotate({
  expected: "a tool with a `type`, such as function, custom, web_search or file_search"
})
export type Tool = typeof Tool.Type

const nameCharactersMax = 64

/** The name of a tool in a namespace for models, which know no namespaces. A long one keeps its beginning. */
export const flatName = (namespace: string, name: string): string => {
  const whole = `${namespace}__${name}`
  if (whole.length <= nameCharactersMax) return whole
  const mark = `_${(Hash.string(whole) >>> 0).toString(36)}`
  return whole.slice(0, nameCharactersMax - mark.length) + mark
}

/** The names by which models call what the client runs. */
const namesOf = (tool: Tool): ReadonlyArray<string> => {
  switch (tool.type) {
    case "function":
    case "custom":
      return [tool.name]
    case "namespace":
      return tool.tools.map(({ name }) => flatName(tool.name, name))
    case "local_shell":
    case "shell":
    case "apply_patch":
      return [tool.type]
    default:
      return []
  }
}

const countOf = (tool: Tool): number => (tool.type === "namespace" ? tool.tools.length : 1)

export const hasOneSearch = (tools: ReadonlyArray<Tool>): boolean =>
  tools.filter(({ type }) => type === "file_search").length <= 1

const hasOwnNames = (tools: ReadonlyArray<Tool>): boolean => {
  const names = tools.flatMap(namesOf)
  return new Set(names).size === names.length
}

export const isFew = (tools: ReadonlyArray<Tool>): boolean =>
  tools.reduce((sum, tool) => sum + countOf(tool), 0) <= toolsMax

export const isShort = (tools: ReadonlyArray<Tool>): boolean =>
  JSON.stringify(tools).length <= toolsCharactersMax

export const Tools = Schema.Array(inSteps(Tool)).check(
  Schema.makeFilter(hasOneSearch, { expected: "a list with one file_search tool at most" }),
  Schema.makeFilter(hasOwnNames, { expected: "a list of functions with different names" }),
  Schema.makeFilter(isFew, {
    expected: `a list of at most ${toolsMax} tools, with those in namespaces`,
    toJsonSchema: () => [{ maxItems: toolsMax }, true]
  }),
  Schema.makeFilter(isShort, { expected: `a list of at most ${toolsCharactersMax} characters as JSON` })
)

const AllowedTools = Schema.Struct({
  type: Schema.Literal("allowed_tools"),
  mode: Schema.Literals(["auto", "required"]),
  tools: Schema.Array(
    Schema.Struct({
      type: Schema.String,
      name: Schema.optionalKey(Schema.String),
      namespace: Schema.optionalKey(Schema.String)
    })
  )
})

/** A `tool_choice` that demands a tool which the service doesn't run, for an error that says so. */
const UnservedChoice = Schema.Struct({
  type: Schema.String.check(
    Schema.makeFilter((type) => !servedTypes.has(type) && type !== "allowed_tools", {
      expected: "a type of a tool"
    })
  )
}).pipe(
  Schema.decodeTo(
    Schema.Struct({ type: Schema.Literal("unserved"), demanded: Schema.String }),
    SchemaTransformation.transform({
      decode: ({ type }) => ({ type: "unserved" as const, demanded: type }),
      encode: ({ demanded }) => ({ type: demanded })
    })
  )
)

export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({
    type: Schema.Literals(["function", "custom"]),
    name: FunctionName,
    namespace: maybe(FunctionName)
  }),
  Schema.Struct({ type: Schema.Literals([...webSearchTypes, "file_search", ...machineTypes]) }),
  AllowedTools,
  UnservedChoice
]).annotate({
  expected:
    "auto, none, required, or an object with the type of a tool, such as function or web_search, or allowed_tools"
})
export type ToolChoice = typeof ToolChoice.Type

/**
 * The service's own tools are offered or not beside those of a client, which brings its own for what it wants
 * done.
 */
export const OwnTools = Schema.Literals(["on", "off"]).annotate({
  expected: "on or off",
  description:
    "Whether the service's own tools are offered. Left out: those of the web where `tools` has `web_search`, all of them where the request has no tools, and none otherwise."
})
