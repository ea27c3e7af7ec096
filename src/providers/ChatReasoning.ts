import { Option, Predicate, Schema } from "effect"
import type { ModelMessage, Reasoning, ToolCall } from "../domain/ModelCall.ts"
import type { Adapt, Dialect } from "./Dialect.ts"
import { type Fields, type ThoughtBlock } from "./Protocol.ts"
import { toolCallsAsText } from "./SentMessages.ts"

/**
 * Reasoning in Chat Completions, which has no field for it. Each server has a field of its own, and nearly
 * all take reasoning back in the same field.
 */

const Details = Schema.Array(Schema.Record(Schema.String, Schema.Unknown))

/** The fields that hold a text. */
const textFields = ["reasoning_content", "reasoning"] as const

/**
 * The form in which reasoning goes back: text in the named field or in chunks of the content, and lists as
 * they came.
 */
const Returned = Schema.Struct({
  field: Schema.optionalKey(Schema.Literals([...textFields, "content"])),
  reasoning_details: Schema.optionalKey(Details),
  thinking_blocks: Schema.optionalKey(Details)
})
type Returned = typeof Returned.Type

const decodeReturned = Schema.decodeOption(Schema.fromJsonString(Returned))

const texts = (parts: unknown): string => {
  if (typeof parts === "string") return parts
  if (!Array.isArray(parts)) return ""
  return parts.map((part) => (Predicate.isObject(part) ? textOf(part["text"]) : "")).join("")
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** The text of those chunks of a content that are thoughts. */
const chunkTexts = (chunks: ReadonlyArray<unknown>): string =>
  chunks
    .map((chunk) =>
      Predicate.isObject(chunk) && chunk["type"] === "thinking" ? texts(chunk["thinking"]) : ""
    )
    .join("")

/** Adds pieces to a list. A piece of the same kind and place as the last one continues it. */
const addPieces = (list: Array<Record<string, unknown>>, pieces: ReadonlyArray<unknown>): void => {
  for (const piece of pieces) {
    if (!Predicate.isObject(piece)) continue
    const last = list.at(-1)
    if (last === undefined || !isContinued(last, piece)) {
      list.push({ ...piece })
      continue
    }
    for (const [name, value] of Object.entries(piece)) {
      const before = last[name]
      const isText = name === "text" || name === "summary" || name === "thinking"
      last[name] = isText ? textOf(before) + textOf(value) : (value ?? before)
    }
  }
}

/** Encrypted reasoning comes whole. */
const isContinued = (last: Fields, piece: Fields): boolean =>
  last["type"] === piece["type"] &&
  last["data"] === undefined &&
  piece["data"] === undefined &&
  (last["index"] ?? 0) === (piece["index"] ?? 0) &&
  (last["signature"] == null || textOf(piece["text"]) + textOf(piece["thinking"]) === "")

/** The text of details, for servers that send no other text. */
const detailTexts = (details: ReadonlyArray<unknown>): string =>
  details
    .map((detail) => (Predicate.isObject(detail) ? textOf(detail["text"]) + textOf(detail["summary"]) : ""))
    .join("")

/** Collects the reasoning of one answer, from its deltas or from the whole message. */
export class ChatThoughts {
  private returned: { -readonly [Name in keyof Returned]: Returned[Name] } = {}
  private details: Array<Record<string, unknown>> = []
  private blocks: Array<Record<string, unknown>> = []
  private hasBegun = false

  /** True if reasoning has begun and hasn't ended. */
  get isOpen(): boolean {
    return this.hasBegun
  }

  /** The piece of text that a delta brings; "" if none. */
  read(delta: Fields): string {
    const details = delta["reasoning_details"]
    const blocks = delta["thinking_blocks"]
    if (Array.isArray(details)) this.pieces(this.details, details)
    if (Array.isArray(blocks)) this.pieces(this.blocks, blocks)
    for (const field of textFields) {
      const text = delta[field]
      if (typeof text === "string" && text !== "") return this.began(field, text)
    }
    const content = delta["content"]
    const chunks = Array.isArray(content) ? chunkTexts(content) : ""
    if (chunks !== "") return this.began("content", chunks)
    return Array.isArray(details) ? detailTexts(details) : ""
  }

  private pieces(list: Array<Record<string, unknown>>, pieces: ReadonlyArray<unknown>): void {
    addPieces(list, pieces)
    if (list.length > 0) this.hasBegun = true
  }

  private began(field: NonNullable<Returned["field"]>, text: string): string {
    this.hasBegun = true
    this.returned.field = field
    return text
  }

  /** Text between tags has no field in which it could go back. */
  tagged(): void {
    this.hasBegun = true
  }

  /** The reasoning since the last call; null if there is none. */
  end(): ThoughtBlock | null {
    if (!this.hasBegun) return null
    const { blocks, details, returned } = this
    if (details.length > 0) {
      // The details contain the text, too.
      delete returned.field
      returned.reasoning_details = details
    }
    if (blocks.length > 0) returned.thinking_blocks = blocks
    this.returned = {}
    this.details = []
    this.blocks = []
    this.hasBegun = false
    return { text: null, data: Object.keys(returned).length === 0 ? null : JSON.stringify(returned) }
  }
}

const returnedOf = ({ opaque }: Reasoning): Returned =>
  Option.getOrElse(opaque === null ? Option.none() : decodeReturned(opaque.data), () => ({}))

type AssistantMessage = Extract<ModelMessage, { readonly role: "assistant" }>

/** All reasoning of a message, in its order. */
const reasoningOf = ({ reasoning = [], toolCalls }: AssistantMessage): ReadonlyArray<Reasoning> => [
  ...reasoning,
  ...toolCalls.flatMap((call) => call.reasoning ?? [])
]

/** The fields of a message that return its reasoning in the form that its server takes. */
export const reasoningFields = (
  message: AssistantMessage,
  { reasoning: manner, thoughts }: Dialect
): Fields => {
  if (manner === "never" || !thoughts) return {}
  const all = reasoningOf(message).map((one) => ({ text: one.text, returned: returnedOf(one) }))
  const details = all.flatMap(({ returned }) => returned.reasoning_details ?? [])
  const blocks = all.flatMap(({ returned }) => returned.thinking_blocks ?? [])
  const fields: Record<string, unknown> = {}
  for (const { returned, text } of all) {
    if (returned.field === undefined || returned.field === "content") continue
    fields[returned.field] = textOf(fields[returned.field]) + text
  }
  if (manner === "always") fields["reasoning_content"] ??= ""
  if (details.length > 0) fields["reasoning_details"] = details
  if (blocks.length > 0) fields["thinking_blocks"] = blocks
  return fields
}

/** The content of a message with its thoughts as chunks; null for servers that keep them apart. */
export const contentWithThoughts = (message: AssistantMessage, dialect: Dialect) => {
  const { reasoning: manner } = dialect
  const thoughts = reasoningOf(message).filter((one) => returnedOf(one).field === "content")
  if (thoughts.length === 0 || manner === "never" || !dialect.thoughts) return null
  return [
    ...thoughts.map(({ text }) => ({ type: "thinking", thinking: [{ type: "text", text }] })),
    ...(message.text === "" ? [] : [{ type: "text", text: message.text }])
  ]
}

/**
 * A stand-in for Gemini's signature of a call that another model made. Only the first call of a message has a
 * signature. Source: Gemini API, thought signatures.
 */
const unsigned = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } }

const decodeFields = Schema.decodeOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

export const callFields = ({ opaque }: ToolCall, index: number, { signsCalls }: Dialect): Fields => {
  if (opaque === undefined || opaque.data === "") return signsCalls && index === 0 ? unsigned : {}
  return Option.getOrElse(decodeFields(opaque.data), () => ({}))
}

/** The fields of a call that go back with it, as JSON; undefined if there are none. */
export const callData = (call: Fields): string | undefined =>
  Predicate.isObject(call["extra_content"])
    ? JSON.stringify({ extra_content: call["extra_content"] })
    : undefined

/**
 * True if a server that demands the reasoning of each round would refuse this message: it has none that the
 * server can read.
 */
const lacksReasoning = (message: ModelMessage): message is AssistantMessage =>
  message.role === "assistant" &&
  message.toolCalls.length > 0 &&
  !reasoningOf(message).some(({ text }) => text !== "")

/**
 * Complaints about a round of calls whose reasoning or signature is missing or refused. Includes Claude
 * behind a gateway.
 */
const aboutReasoning =
  /thought_signature|reasoning_content|reasoning_details|thinking_blocks|expected `thinking`/i

/**
 * The dialect without the reasoning of earlier messages, for one request; null if the complaint is about
 * something else.
 */
export const withoutThoughts: Adapt = (dialect, complaint, { messages }) =>
  dialect.thoughts &&
  aboutReasoning.test(complaint) &&
  messages.some((message) => message.role === "assistant" && message.toolCalls.length > 0)
    ? { ...dialect, thoughts: false }
    : null

/**
 * The messages, with rounds as text where the server demands reasoning that is unknown. All rounds are text
 * where it refused any reasoning.
 */
export const withDemandedReasoning = (
  messages: ReadonlyArray<ModelMessage>,
  { reasoning, thoughts }: Dialect
): ReadonlyArray<ModelMessage> => {
  if (!thoughts) return messages.map(toolCallsAsText)
  if (reasoning !== "demanded") return messages
  let isText = false
  return messages.map((message) => {
    if (message.role !== "tool") isText = lacksReasoning(message)
    return isText ? toolCallsAsText(message) : message
  })
}
