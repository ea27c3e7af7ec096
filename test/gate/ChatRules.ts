import { type Asked, callingIn, type Fields, fieldsIn, sinceScript } from "./Asked.ts"
import type { Memory } from "./Provider.ts"
import { openAiError, type Refusal } from "./Refusal.ts"

/** Rules that several servers apply to a request. */

/** The first of the rules that a request breaks. */
export const firstOf = (...refusals: ReadonlyArray<Refusal | null>): Refusal | null =>
  refusals.find((one) => one !== null) ?? null

/** The first name of an object that isn't known. */
export const unknownName = (fields: Fields, known: ReadonlyArray<string>): string | undefined =>
  Object.keys(fields).find((name) => !known.includes(name))

/** Every call has its result directly behind it, and every result its call. */
export const checkPairs = ({ messages }: Asked): Refusal | null => {
  let open: ReadonlyArray<string> = []
  for (const { callId, calls, role } of messages) {
    if (role === "tool" && !open.includes(callId))
      return openAiError(
        400,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        { param: "messages" }
      )
    if (role !== "tool" && open.length > 0)
      return openAiError(
        400,
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
        { param: "messages" }
      )
    open = role === "tool" ? open.filter((id) => id !== callId) : calls.map(({ id }) => id)
  }
  return null
}

/** The rounds of calls since the question, as a server behind the interface sees them. */
export const openRounds = (asked: Asked) => callingIn(sinceScript(asked))

const combiners = ["oneOf", "anyOf", "allOf", "enum", "not"]

/** The schemas of functions and of answers that OpenAI takes. */
export const checkOpenAiSchemas = (
  { tools }: Asked,
  format: Fields,
  params: { readonly tool: (index: number) => string; readonly format: string }
): Refusal | null => {
  const index = tools.findIndex(
    ({ schema }) => schema["type"] !== "object" || combiners.some((word) => word in schema)
  )
  if (index >= 0)
    return openAiError(
      400,
      `Invalid schema for function '${tools[index]?.name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
      { param: params.tool(index), code: "invalid_function_parameters" }
    )
  const isOpen = format["strict"] === true && fieldsIn(format["schema"])["additionalProperties"] !== false
  return isOpen
    ? openAiError(
        400,
        `Invalid schema for response_format '${String(format["name"])}': In context=(), 'additionalProperties' is required to be supplied and to be false.`,
        { param: params.format }
      )
    : null
}

const cacheKeyCharactersMax = 64

/** The key of the cache, without which OpenAI answers later and charges more. */
export const checkCacheKey = ({ body }: Asked, { note }: Memory): Refusal | null => {
  const { prompt_cache_key: key } = body
  if (typeof key !== "string" || key === "") note("no prompt_cache_key")
  return String(key).length > cacheKeyCharactersMax
    ? openAiError(
        400,
        `Invalid 'prompt_cache_key': string too long. Expected a string with maximum length ${cacheKeyCharactersMax}.`,
        { param: "prompt_cache_key", code: "string_above_max_length" }
      )
    : null
}

const unsupported = (param: string, more = "") =>
  openAiError(400, `Unsupported parameter: '${param}' is not supported with this model.${more}`, {
    param,
    code: "unsupported_parameter"
  })

/** A model of OpenAI that thinks. */
interface ReasoningModel {
  readonly efforts: ReadonlyArray<string>
  /** True if the model takes functions with an effort other than `none`. */
  readonly takesTools: boolean
}

const neverTaken = ["stop", "presence_penalty", "frequency_penalty", "logprobs"]

/** The check of a request to a reasoning model of OpenAI on Chat Completions. */
export const checkReasoningModel =
  ({ efforts, takesTools }: ReasoningModel) =>
  (asked: Asked, memory: Memory): Refusal | null => {
    const { body, tools } = asked
    const { model, reasoning_effort: effort, temperature } = body
    if (body["max_tokens"] !== undefined)
      return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    if (effort !== undefined && !efforts.includes(String(effort)))
      return openAiError(
        400,
        `Unsupported value: 'reasoning_effort' does not support '${String(effort)}' with this model.`,
        { param: "reasoning_effort", code: "unsupported_value" }
      )
    if (!takesTools && tools.length > 0 && effort !== "none") {
      const remedy = efforts.includes("none")
        ? "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        : "Please use /v1/responses instead."
      return openAiError(
        400,
        `Function tools with reasoning_effort are not supported for ${String(model)} in /v1/chat/completions. ${remedy}`,
        { param: "reasoning_effort" }
      )
    }
    if (effort !== "none" && temperature !== undefined && temperature !== 1)
      return openAiError(
        400,
        `Unsupported value: 'temperature' does not support ${String(temperature)} with this model. Only the default (1) value is supported.`,
        { param: "temperature", code: "unsupported_value" }
      )
    const refused = neverTaken.find((name) => body[name] !== undefined)
    if (refused !== undefined) return unsupported(refused)
    const format = fieldsIn(fieldsIn(body["response_format"])["json_schema"])
    const params = {
      tool: (index: number) => `tools[${index}].function.parameters`,
      format: "response_format"
    }
    return firstOf(checkOpenAiSchemas(asked, format, params), checkPairs(asked), checkCacheKey(asked, memory))
  }
