import { Predicate } from "effect"
import type { FinishReason, ModelUsage } from "../domain/ModelCall.ts"
import {
  type AnswerChunk,
  callDelta,
  type CallFragment,
  type Decode,
  decodeTextDelta,
  done,
  type Fields,
  isUnreadable,
  malformed,
  parseEvent,
  type ThoughtBlock,
  thinking,
  thoughtBlock,
  thoughtDelta,
  unknown
} from "./Protocol.ts"
import { decodeError, untypedError } from "./ServerError.ts"
import { decodeCount, decodeDetail } from "./TokenCounts.ts"

/** The state of a stream's blocks. */
interface Blocks {
  /** Calls of the request's tools, by their index; tools of the server have blocks as well. */
  readonly calls: Set<number>
  /** Thinking blocks that have begun, as they are so far. */
  readonly thoughts: Map<number, Fields>
}

/** Reads the events of one Messages stream, or one whole message. */
export const makeDecodeAnthropic = (): Decode => {
  /** The counts so far: those of the input come first, and those of the output are final at the end. */
  let counts: Fields = {}
  /** True once the model has written text. */
  let hasText = false
  const blocks: Blocks = { calls: new Set(), thoughts: new Map() }

  const decodeStart = (event: Fields): AnswerChunk => {
    const { message } = event
    if (!Predicate.isObject(message)) return malformed("a message is no object")
    // The output count of the first event is not final.
    if (Predicate.isObject(message["usage"])) counts = { ...message["usage"], output_tokens: null }
    return unknown
  }

  const decodeEnd = (event: Fields): AnswerChunk => {
    const { delta, usage } = event
    if (!Predicate.isObject(delta)) return malformed("a delta is no object")
    if (Predicate.isObject(usage)) counts = merged(counts, usage)
    const finish = decodeFinish(delta["stop_reason"])
    if (finish === undefined) return malformed("stop_reason is no text")
    const counted = finish === null ? null : decodeUsage(counts)
    return { ...thinking, ...explained(delta, hasText), finish, usage: counted }
  }

  const noteText = (chunk: AnswerChunk): AnswerChunk => {
    if (chunk.type === "delta" && chunk.text !== "") hasText = true
    return chunk
  }

  return (data) => {
    const event = parseEvent(data)
    if (isUnreadable(event)) return event
    switch (event["type"]) {
      case "content_block_delta":
        return noteText(decodeDelta(event, blocks))
      case "content_block_start":
        return noteText(decodeBlock(event, blocks))
      case "content_block_stop":
        return decodeStop(event, blocks)
      case "message_start":
        return decodeStart(event)
      case "message_delta":
        return decodeEnd(event)
      case "message_stop":
        return done
      case "message":
        return decodeDocument(event)
      case "error":
        return decodeError(event["error"])
      default:
        return untypedError(event) ?? unknown
    }
  }
}

const decodeBlock = (event: Fields, { calls, thoughts }: Blocks): AnswerChunk => {
  const block = event["content_block"]
  if (!Predicate.isObject(block)) return malformed("a block is no object")
  const index = decodeCount(event["index"])
  switch (block["type"]) {
    case "text":
      return decodeTextDelta(block["text"])
    case "thinking":
    case "redacted_thinking":
      if (index === null) return malformed("a block without an index")
      thoughts.set(index, block)
      return thoughtDelta(block["thinking"] ?? "")
    case "tool_use": {
      const call = decodeCall(block, index)
      if (index === null || call === undefined) return malformed("a tool call is not well-formed")
      calls.add(index)
      return callDelta(call)
    }
    default:
      return unknown
  }
}

const decodeDelta = (event: Fields, { calls, thoughts }: Blocks): AnswerChunk => {
  const { delta } = event
  if (!Predicate.isObject(delta)) return malformed("a delta is no object")
  if (delta["type"] === "text_delta") return decodeTextDelta(delta["text"])
  const index = decodeCount(event["index"])
  const thought = index === null ? undefined : thoughts.get(index)
  switch (delta["type"]) {
    case "thinking_delta": {
      const piece = delta["thinking"]
      if (typeof piece === "string" && index !== null && thought !== undefined)
        thoughts.set(index, { ...thought, thinking: textIn(thought) + piece })
      return thoughtDelta(piece)
    }
    case "signature_delta":
      if (index !== null && thought !== undefined)
        thoughts.set(index, { ...thought, signature: delta["signature"] })
      return thinking
    case "input_json_delta": {
      const fragment = delta["partial_json"]
      if (index === null || typeof fragment !== "string") return malformed("a piece of arguments is no text")
      return calls.has(index) ? callDelta({ index, id: "", name: "", arguments: fragment }) : thinking
    }
    default:
      return thinking
  }
}

const decodeStop = (event: Fields, { thoughts }: Blocks): AnswerChunk => {
  const index = decodeCount(event["index"])
  const thought = index === null ? undefined : thoughts.get(index)
  if (index === null || thought === undefined) return unknown
  thoughts.delete(index)
  return thoughtBlock(thoughtOf(thought))
}

const textIn = (thought: Fields): string =>
  typeof thought["thinking"] === "string" ? thought["thinking"] : ""

/** A complete thinking block, which goes back unchanged. An empty block doesn't go back. */
const thoughtOf = (block: Fields): ThoughtBlock => {
  const text = textIn(block)
  const isEmpty = block["type"] === "thinking" && text === "" && !block["signature"]
  return { text, data: isEmpty ? null : JSON.stringify(block) }
}

/** In a stream a call begins with an empty input, which is not part of its arguments. */
const decodeCall = (block: Fields, index: number | null): CallFragment | undefined => {
  const { id, input, name } = block
  if (typeof id !== "string" || typeof name !== "string") return undefined
  const isFilled = Predicate.isObject(input) && Object.keys(input).length > 0
  return { index, id, name, arguments: isFilled ? JSON.stringify(input) : "" }
}

/**
 * null while the answer goes on; undefined for a reason that isn't text. An unknown reason ends the answer as
 * well.
 */
const decodeFinish = (reason: unknown): FinishReason | null | undefined => {
  if (reason === undefined || reason === null) return null
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "tool_use":
      return "tool_calls"
    case "refusal":
      return "content_filter"
    // Only the server's own tools pause a turn, and no request offers any.
    case "pause_turn":
      return "stop"
    default:
      return typeof reason === "string" ? "stop" : undefined
  }
}

/** The server's explanation of a refusal, in place of a text that the model didn't write. */
const explained = (ending: Fields, hasText: boolean): { readonly refusal?: string } => {
  const details = ending["stop_details"]
  if (hasText || ending["stop_reason"] !== "refusal" || !Predicate.isObject(details)) return {}
  const explanation = details["explanation"]
  return typeof explanation === "string" && explanation !== "" ? { refusal: explanation } : {}
}

const decodeDocument = (message: Fields): AnswerChunk => {
  const { content } = message
  if (!Array.isArray(content)) return malformed("content is no list")
  const finish = decodeFinish(message["stop_reason"])
  if (finish === undefined) return malformed("stop_reason is no text")
  const chunks = content.map((block, index): AnswerChunk => {
    if (!Predicate.isObject(block)) return malformed("a block is no object")
    switch (block["type"]) {
      case "text":
        return typeof block["text"] === "string" ? decodeTextDelta(block["text"]) : unknown
      case "thinking":
      case "redacted_thinking":
        return thoughtBlock(thoughtOf(block))
      case "tool_use": {
        const call = decodeCall(block, index)
        return call === undefined ? malformed("a tool call is not well-formed") : callDelta(call)
      }
      default:
        return unknown
    }
  })
  const problem = chunks.find(({ type }) => type === "malformed")
  if (problem !== undefined) return problem
  const hasText = chunks.some((chunk) => chunk.type === "delta" && chunk.text !== "")
  const usage = Predicate.isObject(message["usage"]) ? decodeUsage(message["usage"]) : null
  return {
    type: "chunks",
    chunks: [...chunks, { ...thinking, ...explained(message, hasText), finish, usage }]
  }
}

/** Later counts replace earlier ones, unless they are null. */
const merged = (counts: Fields, later: Fields): Fields => ({
  ...counts,
  ...Object.fromEntries(Object.entries(later).filter(([, count]) => count !== null))
})

/** null where the counts are absent or unusable; they are estimated then. */
const decodeUsage = (usage: Fields): ModelUsage | null => {
  const fresh = decodeCount(usage["input_tokens"])
  const outputTokens = decodeCount(usage["output_tokens"])
  if (fresh === null || outputTokens === null) return null
  // Here the input tokens exclude those read from the cache or written to it.
  const cached = decodeCount(usage["cache_read_input_tokens"]) ?? 0
  const written = decodeCount(usage["cache_creation_input_tokens"]) ?? 0
  return {
    inputTokens: fresh + cached + written,
    cachedInputTokens: cached,
    cacheWriteInputTokens: written,
    outputTokens,
    // Not every server counts the reasoning.
    reasoningTokens: decodeDetail(usage["output_tokens_details"], "thinking_tokens"),
    source: "provider"
  }
}
