import { Predicate } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"

/** A piece of a tool call, as a delta brings it. */
export interface CallFragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What was said, in whole or in part; everything of it may be empty. */
export interface AnswerDelta {
  readonly type: "delta"
  readonly text: string
  /** Whether the model showed that it is at work, be it by thinking aloud. */
  readonly progress: boolean
  readonly fragments: ReadonlyArray<CallFragment>
  readonly finish: FinishReason | null
  readonly usage: ModelUsage | null
}

/**
 * What one event of a model's stream, or one whole answer, can say, whatever the protocol. The union is closed: an event of
 * a shape that is valid but unheard of, such as a ping, is `unknown`, and one that contradicts the format is `malformed`.
 */
export type AnswerChunk =
  | AnswerDelta
  | { readonly type: "usage"; readonly usage: ModelUsage | null }
  | { readonly type: "done" }
  | ServerError
  | { readonly type: "unknown" }
  | { readonly type: "malformed"; readonly detail: string }

/** Reads the events of one answer, in their order. */
export type Decode = (data: string) => AnswerChunk

/** An error that the server tells: `label` is safe to log, `message` may quote the request. */
export interface ServerError {
  readonly type: "error"
  readonly label: string
  readonly message: string
}

export type Fields = Readonly<Record<PropertyKey, unknown>>

export const unknown: AnswerChunk = { type: "unknown" }
export const done: AnswerChunk = { type: "done" }
export const malformed = (detail: string): AnswerChunk => ({ type: "malformed", detail })
export const noFragments: ReadonlyArray<CallFragment> = []

/** The model is at work, and says nothing yet. */
export const thinking: AnswerChunk = {
  type: "delta",
  text: "",
  progress: true,
  fragments: noFragments,
  finish: null,
  usage: null
}

export const textDelta = (text: string): AnswerChunk => ({
  type: "delta",
  text,
  progress: text !== "",
  fragments: noFragments,
  finish: null,
  usage: null
})

export const callDelta = (fragment: CallFragment): AnswerChunk => ({
  type: "delta",
  text: "",
  progress: true,
  fragments: [fragment],
  finish: null,
  usage: null
})

/**
 * The fields of one event. Every token passes here, so it parses with JSON.parse, and the decoders check the few fields
 * that count by hand: decoding by Schema would cost several times the rest of the delivery.
 */
export const parseEvent = (data: string): Fields | Extract<AnswerChunk, { readonly type: "malformed" }> => {
  let json: unknown
  try {
    json = JSON.parse(data)
  } catch {
    return notJson
  }
  return Predicate.isObject(json) ? json : noObject
}

const notJson = { type: "malformed", detail: "an event that is not JSON" } as const
const noObject = { type: "malformed", detail: "an event that is no object" } as const

/** Tells what `parseEvent` made of an event that it couldn't read from the event itself. */
export const isUnreadable = (
  event: ReturnType<typeof parseEvent>
): event is Extract<AnswerChunk, { readonly type: "malformed" }> => event === notJson || event === noObject

/** A count of tokens; null where it is absent or unusable. */
export const decodeCount = (count: unknown): number | null =>
  typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : null

/** One of the counts that a usage keeps in an object of its own. */
export const decodeDetail = (details: unknown, name: string): number =>
  (Predicate.isObject(details) ? decodeCount(details[name]) : null) ?? 0

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
