import type {
  AnswerFormat,
  AnswerOptions,
  ModelImage,
  ModelMessage,
  ModelRequest
} from "../domain/ModelCall.ts"
import { effortOf, type Thinking, thinkingOf } from "./ClaudeModels.ts"
import { type Dialect, offeredTools } from "./Dialect.ts"
import { isReasoningModel } from "./OpenAiModels.ts"
import { promptCacheKey } from "./PromptCacheKey.ts"
import { customNames, encodeChoice } from "./ResponsesCalls.ts"

/**
 * The fields for the options of an answer, in each protocol. Options that are absent are left to the model.
 */

type Fields = Readonly<Record<string, unknown>>

/** The fields without those that are undefined. */
const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const noOptions: AnswerOptions = {}

const optionsOf = ({ options = noOptions }: ModelRequest): AnswerOptions => options

/** Servers refuse a tool choice without tools. */
export const offersTools = (request: ModelRequest, dialect: Dialect): boolean =>
  offeredTools(request, dialect).length > 0

const openAiSchema = ({
  description,
  name,
  schema,
  strict
}: Extract<AnswerFormat, { type: "json_schema" }>) => ({
  name,
  ...(description === null ? {} : { description }),
  schema,
  strict
})

const formatIn = (request: ModelRequest, dialect: Dialect): AnswerFormat | undefined =>
  dialect.format ? optionsOf(request).format : undefined

/** A penalty of 0 has no effect. */
const penaltyIn = ({ frequencyPenalty = 0, presencePenalty = 0 }: AnswerOptions): string | null =>
  presencePenalty !== 0 ? "presence_penalty" : frequencyPenalty === 0 ? null : "frequency_penalty"

const seedIn = ({ seed }: AnswerOptions): string | null => (seed === undefined ? null : "seed")

const stopIn = ({ stop = [] }: AnswerOptions): string | null => (stop.length === 0 ? null : "stop")

/** Chat Completions has a field for each option. */
export const lacksNothing = (): null => null

export const responsesLacks = (options: AnswerOptions): string | null =>
  stopIn(options) ?? seedIn(options) ?? penaltyIn(options)

export const chatFields = (request: ModelRequest, dialect: Dialect): Fields => {
  const options = optionsOf(request)
  const { toolChoice: choice } = options
  const format = formatIn(request, dialect)
  return given({
    temperature: options.temperature,
    top_p: options.topP,
    stop: options.stop,
    seed: options.seed,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    ...(options.logprobs === undefined
      ? {}
      : { logprobs: true, top_logprobs: options.logprobs || undefined }),
    reasoning_effort: options.reasoningEffort,
    verbosity: dialect.verbosity ? options.verbosity : undefined,
    prompt_cache_key: promptCacheKey(request, dialect),
    ...(offersTools(request, dialect)
      ? {
          tool_choice:
            typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice,
          parallel_tool_calls: options.parallelToolCalls
        }
      : {}),
    response_format:
      format?.type === "json_schema" ? { type: "json_schema", json_schema: openAiSchema(format) } : format
  })
}

/** Asks for a summary only where the model is sure to think. Other servers and models refuse the field. */
const responsesReasoning = (
  model: string,
  { reasoningEffort: effort }: AnswerOptions,
  { reasoningSummary }: Dialect
): Fields | undefined => {
  const thinks = effort === undefined ? isReasoningModel(model) === true : effort !== "none"
  const fields = given({ effort, summary: reasoningSummary && thinks ? "auto" : undefined })
  return Object.keys(fields).length === 0 ? undefined : fields
}

export const responsesFields = (model: string, request: ModelRequest, dialect: Dialect): Fields => {
  const options = optionsOf(request)
  const { toolChoice: choice } = options
  const format = formatIn(request, dialect)
  const text = given({
    format: format?.type === "json_schema" ? { type: "json_schema", ...openAiSchema(format) } : format,
    verbosity: dialect.verbosity ? options.verbosity : undefined
  })
  return given({
    temperature: options.temperature,
    top_p: options.topP,
    top_logprobs: options.logprobs || undefined,
    reasoning: responsesReasoning(model, options, dialect),
    prompt_cache_key: promptCacheKey(request, dialect),
    ...(offersTools(request, dialect)
      ? {
          tool_choice:
            typeof choice === "object" ? encodeChoice(choice.name, customNames(request, dialect)) : choice,
          parallel_tool_calls: options.parallelToolCalls
        }
      : {}),
    text: Object.keys(text).length === 0 ? undefined : text
  })
}

const anthropicTemperatureMax = 1

export const anthropicLacks = (options: AnswerOptions): string | null =>
  (options.temperature ?? 0) > anthropicTemperatureMax
    ? "temperature"
    : (seedIn(options) ?? penaltyIn(options))

const anthropicChoice = ({ parallelToolCalls, toolChoice }: AnswerOptions) => {
  if (toolChoice === undefined && parallelToolCalls === undefined) return undefined
  const parallel = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (typeof toolChoice === "object") return { type: "tool", name: toolChoice.name, ...parallel }
  if (toolChoice === "none") return { type: "none" }
  return { type: toolChoice === "required" ? "any" : "auto", ...parallel }
}

/** undefined if the server decides the depth of reasoning. */
export const anthropicThinking = (
  model: string,
  request: ModelRequest,
  dialect: Dialect
): Thinking | undefined => thinkingOf(model, optionsOf(request).reasoningEffort, dialect.thinkingControls)

export const anthropicFields = (model: string, request: ModelRequest, dialect: Dialect): Fields => {
  const options = optionsOf(request)
  const format = formatIn(request, dialect)
  const config = given({
    effort: effortOf(model, options.reasoningEffort),
    format: format?.type === "json_schema" ? { type: "json_schema", schema: format.schema } : undefined
  })
  return given({
    temperature: options.temperature,
    top_p: options.topP,
    stop_sequences: options.stop,
    tool_choice: offersTools(request, dialect) ? anthropicChoice(options) : undefined,
    thinking: anthropicThinking(model, request, dialect),
    output_config: Object.keys(config).length === 0 ? undefined : config
  })
}

/**
 * The instruction that replaces the format on a server that can't enforce one. The service checks the answer.
 */
const formatInWords = (format: AnswerFormat): string =>
  format.type === "json_object"
    ? "Answer with one JSON object, and with nothing else: no introduction and no code fence."
    : "Answer with one JSON value that satisfies the following JSON Schema, and with nothing else: no introduction and no code fence.\n" +
      JSON.stringify(format.schema)

/** The messages, with the format in the system message where the dialect has no field for it. */
export const withFormat = (
  messages: ReadonlyArray<ModelMessage>,
  request: ModelRequest,
  isSent: boolean
): ReadonlyArray<ModelMessage> => {
  const { format } = optionsOf(request)
  if (format === undefined || isSent) return messages
  const words = formatInWords(format)
  const [first, ...rest] = messages
  return first?.role === "system"
    ? [{ role: "system", text: `${first.text}\n\n${words}` }, ...rest]
    : [{ role: "system", text: words }, ...messages]
}

export const dataUrl = ({ data, mediaType }: ModelImage): string => `data:${mediaType};base64,${data}`
