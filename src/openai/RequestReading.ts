import { Effect, Schema } from "effect"
import { CreateBody, type Format } from "../api/openai/CreateBody.ts"
import type { Echo } from "../api/openai/ResponseResource.ts"
import type { Tool } from "../api/openai/Tools.ts"
import type { AnswerFormat, AnswerOptions, ToolChoice } from "../domain/ModelCall.ts"
import { type Demands, isRecalled, type ResponseRequest } from "../responses/prompt/ResponseRequest.ts"
import { kindsOf } from "./ClientTools.ts"
import { ignoredHints } from "./IgnoredParts.ts"
import { entriesOf, unservedIn } from "./ItemReading.ts"
import type { Shown, View } from "./ItemRendering.ts"
import { logprobsInclude } from "./Logprobs.ts"
import { sealingOnce, type UserSealing } from "./Sealing.ts"
import {
  chosenTools,
  fileSearchOf,
  hasWebSearch,
  placeInRequest,
  type Tools,
  toolsOf,
  unservedTools
} from "./ToolReading.ts"

/** From the body of a request to what the core understands, and to what its response repeats. */

interface ReadRequest {
  readonly request: ResponseRequest
  readonly demands: Demands
  readonly view: View
  /** The paths of what nothing is made of: encrypted content that can't be read, and hints. */
  readonly unused: ReadonlyArray<string>
}

const formatOf = (format: Format | null | undefined): AnswerFormat | null => {
  if (format == null || format.type === "text") return null
  return format.type === "json_object"
    ? format
    : {
        type: "json_schema",
        name: format.name,
        description: format.description ?? null,
        schema: format.schema,
        strict: format.strict ?? false
      }
}

/** An object without the fields that are absent or null. */
export const given = <Fields extends object>(
  fields: Fields
): { readonly [K in keyof Fields]?: NonNullable<Fields[K]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    readonly [K in keyof Fields]?: NonNullable<Fields[K]>
  }

/** The number of likeliest tokens; null if no logprobs are asked for. */
const topLogprobs = ({ include, top_logprobs: top }: CreateBody): number | null =>
  (include ?? []).includes(logprobsInclude) ? (top ?? 0) : top || null

const answerOptions = (body: CreateBody, toolChoice: ToolChoice | undefined): AnswerOptions =>
  given({
    temperature: body.temperature,
    topP: body.top_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    reasoningEffort: body.reasoning?.effort,
    verbosity: body.text?.verbosity,
    parallelToolCalls: body.parallel_tool_calls,
    format: formatOf(body.text?.format),
    logprobs: topLogprobs(body),
    toolChoice
  })

/** The model that a client names; null where it leaves the choice to the service. */
export const namedModel = ({ model }: Pick<CreateBody, "model">): string | null =>
  model === "auto" ? null : model || null

const demandsOf = (body: CreateBody, tools: Tools): Demands => {
  const { functions, ownTools, toolChoice } = chosenTools(body, tools)
  const place = placeInRequest(body)
  const fileSearch = fileSearchOf(tools)
  return {
    ...given({
      model: namedModel(body),
      functions:
        functions.length === 0
          ? null
          : functions.map(({ param, ...spec }) => ({
              ...spec,
              ...(param === undefined ? {} : { param: place(param) })
            })),
      cacheKey: body.prompt_cache_key,
      maxToolCalls: body.max_tool_calls,
      fileSearch: fileSearch && {
        ...fileSearch,
        projects: fileSearch.projects.map(({ id, param }) => ({ id, param: place(param) }))
      },
      ownTools
    }),
    answer: answerOptions(body, toolChoice),
    ...(body.truncation === "disabled" ? { wholeHistory: true } : {}),
    branches: true,
    passingInstructions: true,
    functionItems: true,
    questionless: true
  }
}

/** The places of what is encrypted and can't be read: the answer is made without it. */
const unreadableIn = ({ input: given }: CreateBody, { input }: ResponseRequest): ReadonlyArray<string> =>
  typeof given === "string"
    ? []
    : given.flatMap((item, index) => {
        const isEncrypted = "type" in item && item.type === "reasoning" && item.encrypted_content != null
        return isEncrypted && typeof input !== "string" && !isRecalled(input[index])
          ? [`input[${index}].encrypted_content`]
          : []
      })

const requestOf = (body: CreateBody, input: ResponseRequest["input"]): ResponseRequest => ({
  input,
  ...given({
    instructions: body.instructions,
    conversation: body.conversation,
    previous_response_id: body.previous_response_id,
    max_output_tokens: body.max_output_tokens,
    store: body.store
  })
})

const shownOf = (body: CreateBody, tools: Tools): Shown => ({
  webSearch: hasWebSearch(tools),
  fileSearch: tools.some(({ type }) => type === "file_search"),
  results: (body.include ?? []).includes("file_search_call.results"),
  encrypted: (body.include ?? []).includes("reasoning.encrypted_content")
})

const echoedFormat = (format: Format | null | undefined): Echo["text"]["format"] => {
  if (format == null) return { type: "text" }
  return format.type === "json_schema"
    ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
    : format
}

const echoedTool = (tool: Tool): Echo["tools"][number] => {
  switch (tool.type) {
    case "function":
      return {
        ...tool,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? false
      }
    case "file_search":
      return { ...tool, vector_store_ids: tool.vector_store_ids.map((id) => `vs_${id}`) }
    case "unserved":
      return tool.given
    default:
      return { ...tool }
  }
}

/** The choice as the client said it. */
const echoedChoice = (choice: CreateBody["tool_choice"]): unknown =>
  typeof choice === "object" && choice?.type === "unserved" ? { type: choice.demanded } : (choice ?? "auto")

const echoOf = (body: CreateBody, tools: Tools): Echo => ({
  background: body.background ?? false,
  frequency_penalty: body.frequency_penalty ?? 0,
  max_tool_calls: body.max_tool_calls ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  presence_penalty: body.presence_penalty ?? 0,
  prompt_cache_key: body.prompt_cache_key ?? null,
  reasoning:
    body.reasoning == null
      ? null
      : { effort: body.reasoning.effort ?? null, summary: body.reasoning.summary ?? null },
  safety_identifier: body.safety_identifier ?? null,
  service_tier: "default",
  temperature: body.temperature ?? 1,
  text: { format: echoedFormat(body.text?.format), ...given({ verbosity: body.text?.verbosity }) },
  tool_choice: echoedChoice(body.tool_choice),
  tools: tools.map(echoedTool),
  top_logprobs: body.top_logprobs ?? 0,
  top_p: body.top_p ?? 1,
  truncation: body.truncation ?? "auto",
  user: body.user ?? null
})

/** An empty text is no message. */
const textInput = (text: string): ResponseRequest["input"] => (text === "" ? [] : text)

export const readRequest = Effect.fnUntraced(function* (body: CreateBody, sealing: UserSealing) {
  const { input } = body
  const request = requestOf(
    body,
    typeof input === "string" ? textInput(input) : yield* entriesOf(input, sealing)
  )
  const tools = toolsOf(body)
  const asked = { echo: echoOf(body, tools), shown: shownOf(body, tools) }
  return {
    request,
    demands: { ...demandsOf(body, tools), echo: asked },
    view: {
      ...asked,
      kinds: kindsOf(tools),
      seal: asked.shown.encrypted === true ? sealingOnce(sealing) : null
    },
    unused: [
      ...unreadableIn(body, request),
      ...(typeof input === "string" ? [] : unservedIn(input)),
      ...unservedTools(tools).map(placeInRequest(body)),
      ...ignoredHints(body)
    ]
  } satisfies ReadRequest
})

export const decodeBody = Schema.decodeUnknownEffect(CreateBody)

/** Reads a request as a job has it. */
export const readJobRequest = Effect.fnUntraced(function* (job: unknown, sealing: UserSealing) {
  const body = yield* Effect.orDie(decodeBody(job))
  const { demands, request, view } = yield* readRequest(body, sealing)
  return { request, demands, showsPassages: view.shown.results }
})
