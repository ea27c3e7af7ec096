import type { ModelRequest, ModelMessage, FinishReason, ModelUsage } from "../domain/ModelCall.ts"
import { Predicate } from "effect"

/** The two names under which servers know the bound on the answer. */
export type TokenParameter = "max_tokens" | "max_completion_tokens"

/** What a server is asked in; each of these some server refuses. */
export interface Dialect {
  /** Only Chat Completions has two names for it. */
  readonly tokenParameter: TokenParameter
  /** Whether to ask for the usage of a stream. Only Chat Completions has to. */
  readonly streamOptions: boolean
  readonly tools: boolean
}

/**
 * What to ask differently after a server refused a request as badly formed, by what it complains of; null where nothing
 * helps. The refusals are free text, so that the name of the parameter is all there is to go by.
 */
export type Adapt = (dialect: Dialect, complaint: string) => Dialect | null

/** Goes without tools where the model has none. */
export const adaptTools: Adapt = (dialect, complaint) =>
  dialect.tools && refusesTools.test(complaint) ? { ...dialect, tools: false } : null

/** Tells "this model has no tools" from a complaint about one of them, which must be heard. */
const refusesTools =
  /tool.*(not support|n't support|unsupported|requires)|(not support|n't support|unsupported).*tool/s

/** How a kind of model server is asked, and how its answer reads. Everything else is the same for all of them. */
export interface Protocol {
  /** Where the answers are, below the base URL. */
  readonly path: string
  /** What every request carries beside its content type; the key is null where the server wants none. */
  readonly headers: (key: string | null) => Readonly<Record<string, string>>
  /** The request body, as JSON. */
  readonly encode: (model: string, request: ModelRequest, dialect: Dialect) => string
  readonly adapt: Adapt
  /** One for each answer, because what an event means may depend on those before it. */
  readonly makeDecode: () => Decode
}

/** The way in which most servers take their key. */
export const bearer = (key: string | null): Readonly<Record<string, string>> =>
  key === null ? {} : { authorization: `Bearer ${key}` }

/**
 * A message in which nothing is called, for a model that knows no tools: earlier calls and their results are told, so that
 * nothing is lost of them.
 */
export const tellCalls = (message: ModelMessage): ModelMessage => {
  switch (message.role) {
    case "system":
    case "user":
      return message
    case "assistant": {
      const calls = message.toolCalls.map((call) => `[called ${call.name} with ${call.arguments}]`)
      const text = [message.text, ...calls].filter((part) => part !== "").join("\n")
      return { role: "assistant", text, toolCalls: [] }
    }
    case "tool":
      return { role: "user", text: `[result of ${message.name}]\n${message.text}` }
  }
}

/**
 * The messages of a request, with calls told where no tools are offered: Anthropic refuses calls without the definitions of
 * tools, and so do gateways that pass other protocols on to it.
 */
export const asOffered = (
  { messages, tools }: Pick<ModelRequest, "messages" | "tools">,
  dialect: Dialect
): ReadonlyArray<ModelMessage> => (dialect.tools && tools.length > 0 ? messages : messages.map(tellCalls))

/** Whether a message goes on with the one before it. Results belong behind the calls of a message. */
const goesOn = (before: ModelMessage, message: ModelMessage): boolean =>
  before.role === message.role &&
  before.role !== "tool" &&
  (before.role !== "assistant" || before.toolCalls.length === 0)

/** Messages of which no two in a row have one role: the chat templates of some models refuse them. */
export const inTurns = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const turns: Array<{ readonly texts: Array<string>; last: ModelMessage }> = []
  for (const message of messages) {
    const turn = turns.at(-1)
    if (turn === undefined || !goesOn(turn.last, message))
      turns.push({ texts: [message.text], last: message })
    else {
      turn.texts.push(message.text)
      turn.last = message
    }
  }
  return turns.map(({ last, texts }) =>
    texts.length === 1 ? last : { ...last, text: texts.filter((text) => text !== "").join("\n\n") }
  )
}

/** A piece of a tool call, as a delta brings it. */
export interface CallFragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What was said, in whole or in part; everything of it may be empty. */
interface AnswerDelta {
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
    // oxlint-disable-next-line no-restricted-properties -- every token passes here; a Schema costs several times the rest
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
    // oxlint-disable-next-line no-restricted-properties -- a body that is no JSON is read as a text
    json = JSON.parse(body)
  } catch {
    return decodeError(body)
  }
  return decodeError(Predicate.isObject(json) ? (json["error"] ?? json) : json)
}
