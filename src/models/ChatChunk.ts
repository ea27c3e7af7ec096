import { Predicate } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"

/** A piece of a tool call, as a delta brings it. */
export interface CallFragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/**
 * What one event of a Chat Completions stream, or one whole answer, can say. The union is closed: an event of a shape that
 * is valid but unheard of, such as a ping, is `unknown`, and one that contradicts the format is `malformed`.
 */
export type ChatChunk =
  | {
      readonly type: "choice"
      readonly text: string
      /** Whether the model showed that it is at work, be it by thinking aloud. */
      readonly progress: boolean
      readonly fragments: ReadonlyArray<CallFragment>
      readonly finish: FinishReason | null
      readonly usage: ModelUsage | null
    }
  | { readonly type: "usage"; readonly usage: ModelUsage | null }
  | { readonly type: "done" }
  | ServerError
  | { readonly type: "unknown" }
  | { readonly type: "malformed"; readonly detail: string }

/** An error that the server tells: `label` is safe to log, `message` may quote the request. */
export interface ServerError {
  readonly type: "error"
  readonly label: string
  readonly message: string
}

type Fields = Readonly<Record<PropertyKey, unknown>>

const unknown: ChatChunk = { type: "unknown" }
const done: ChatChunk = { type: "done" }
const malformed = (detail: string): ChatChunk => ({ type: "malformed", detail })
const noFragments: ReadonlyArray<CallFragment> = []
const noFields: Fields = {}

/**
 * Reads one event. Every token passes here, so it parses with JSON.parse and checks the few fields that count by hand:
 * decoding by Schema would cost several times the rest of the delivery.
 */
export const decodeChatChunk = (data: string): ChatChunk => {
  if (data === "[DONE]") return done
  let json: unknown
  try {
    json = JSON.parse(data)
  } catch {
    return data.trim() === "[DONE]" ? done : malformed("an event that is not JSON")
  }
  if (!Predicate.isObject(json)) return malformed("an event that is no object")
  const error = json["error"]
  if (error !== undefined && error !== null) return decodeError(error)
  const choices = json["choices"]
  if (choices === undefined) return unknown
  const usage = decodeUsage(json["usage"])
  if (choices === null) return { type: "usage", usage }
  if (!Array.isArray(choices)) return malformed("choices is no list")
  return decodeChoice(choices[0], usage)
}

const decodeChoice = (choice: unknown, usage: ModelUsage | null): ChatChunk => {
  if (choice === undefined) return { type: "usage", usage }
  if (!Predicate.isObject(choice)) return malformed("a choice is no object")
  if (choice["finish_reason"] === "error") return { type: "error", label: "finish_reason error", message: "" }
  const finish = decodeFinish(choice["finish_reason"])
  if (finish === undefined) return malformed("finish_reason is no text")
  // A whole answer says `message` where a stream says `delta`.
  const delta = choice["delta"] ?? choice["message"] ?? noFields
  if (!Predicate.isObject(delta)) return malformed("a delta is no object")
  const text = decodeText(delta)
  if (text === undefined) return malformed("content is no text")
  const fragments = decodeFragments(delta["tool_calls"])
  if (fragments === undefined) return malformed("a tool call is not well-formed")
  const progress = text !== "" || fragments.length > 0 || isThinking(delta)
  return { type: "choice", text, progress, fragments, finish, usage }
}

/** Text of the answer; a refusal is text too. Undefined where it is neither text nor absent. */
const decodeText = (delta: Fields): string | undefined => {
  const content = delta["content"]
  const refusal = delta["refusal"]
  const text = typeof content === "string" ? content : decodeContentParts(content)
  if (refusal === undefined || refusal === null) return text
  return typeof refusal === "string" && text !== undefined ? text + refusal : undefined
}

/** Some servers send content as a list of parts, thoughts among them. */
const decodeContentParts = (content: unknown): string | undefined => {
  if (content === null || content === undefined) return ""
  if (!Array.isArray(content)) return undefined
  let text = ""
  for (const part of content) {
    if (Predicate.isObject(part) && typeof part["text"] === "string") text += part["text"]
  }
  return text
}

const isThinking = (delta: Fields): boolean =>
  isFilled(delta["reasoning_content"]) || isFilled(delta["reasoning"]) || isFilled(delta["content"])

const isFilled = (value: unknown): boolean =>
  (typeof value === "string" || Array.isArray(value)) && value.length > 0

const decodeFragments = (calls: unknown): ReadonlyArray<CallFragment> | undefined => {
  if (calls === undefined || calls === null) return noFragments
  if (!Array.isArray(calls)) return undefined
  const fragments = calls.flatMap((call) => decodeFragment(call) ?? [])
  return fragments.length === calls.length ? fragments : undefined
}

const decodeFragment = (call: unknown): CallFragment | undefined => {
  if (!Predicate.isObject(call)) return undefined
  const called = call["function"] ?? noFields
  const index = call["index"] ?? null
  if (!Predicate.isObject(called) || !(index === null || Predicate.isNumber(index))) return undefined
  const id = decodeOptionalText(call["id"])
  const name = decodeOptionalText(called["name"])
  // Some servers send the arguments as the object that they should be the text of.
  const args = Predicate.isObject(called["arguments"])
    ? JSON.stringify(called["arguments"])
    : decodeOptionalText(called["arguments"])
  if (id === undefined || name === undefined || args === undefined) return undefined
  return { index, id, name, arguments: args }
}

const decodeOptionalText = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : undefined
}

/** null while the answer goes on; undefined where it isn't text. A reason that nobody knows ends the answer all the same. */
const decodeFinish = (reason: unknown): FinishReason | null | undefined => {
  if (reason === undefined || reason === null || reason === "") return null
  if (typeof reason !== "string") return undefined
  switch (reason) {
    case "length":
    case "max_tokens":
    case "model_length":
      return "length"
    case "tool_calls":
    case "function_call":
    case "tool_use":
      return "tool_calls"
    case "content_filter":
    case "safety":
      return "content_filter"
    default:
      return "stop"
  }
}

/** null where the counts are absent or unusable; they are estimated then. */
const decodeUsage = (usage: unknown): ModelUsage | null => {
  if (!Predicate.isObject(usage)) return null
  const inputTokens = decodeCount(usage["prompt_tokens"])
  const outputTokens = decodeCount(usage["completion_tokens"])
  if (inputTokens === null || outputTokens === null) return null
  const inputDetails = usage["prompt_tokens_details"]
  const outputDetails = usage["completion_tokens_details"]
  const cached = Predicate.isObject(inputDetails) ? decodeCount(inputDetails["cached_tokens"]) : null
  const reasoning = Predicate.isObject(outputDetails) ? decodeCount(outputDetails["reasoning_tokens"]) : null
  return {
    inputTokens,
    cachedInputTokens: cached ?? 0,
    outputTokens,
    reasoningTokens: reasoning ?? 0,
    source: "provider"
  }
}

const decodeCount = (count: unknown): number | null =>
  typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null

/** What may be told of an error without quoting: a code or a type that is a mere word. */
const word = /^[\w.:-]{1,64}$/

/** The `error` of an event or of a refusal's body; some servers send a mere text. */
export const decodeError = (error: unknown): ServerError => {
  if (!Predicate.isObject(error)) {
    return { type: "error", label: "", message: typeof error === "string" ? error : "" }
  }
  const label = [error["code"], error["type"], error["param"]]
    .filter((value) => Predicate.isString(value) || Predicate.isNumber(value))
    .map(String)
    .filter((value) => word.test(value))
    .join(" ")
  const message = error["message"]
  return { type: "error", label, message: typeof message === "string" ? message : "" }
}

/** The body of an answer whose status is an error, as far as it can be understood. */
export const decodeErrorBody = (body: string): ServerError => {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return decodeError(body)
  }
  return decodeError(Predicate.isObject(json) ? (json["error"] ?? json) : json)
}
