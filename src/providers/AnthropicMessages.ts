import { Predicate, Option, Schema } from "effect"
import type {
  FinishReason,
  ModelImage,
  ModelUsage,
  ModelMessage,
  ModelRequest,
  ToolCall,
  ToolSpec
} from "../domain/ModelCall.ts"
import { anthropicFields, anthropicLacks, withFormat } from "./AnswerFields.ts"
import { adaptAnswer, type Dialect, offeredTools } from "./Dialect.ts"
import {
  type AnswerChunk,
  callDelta,
  type CallFragment,
  type Decode,
  decodeCount,
  decodeDetail,
  decodeError,
  decodeTextDelta,
  done,
  type Fields,
  isUnreadable,
  malformed,
  parseEvent,
  thinking,
  unknown,
  imagesOf,
  type Protocol,
  messagesFor
} from "./Protocol.ts"

type Block = Readonly<Record<string, unknown>>

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<Block>
}

/** The request body of a Messages call, as JSON. */
export const encodeAnthropicRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  const tools = offeredTools(request, dialect)
  // It has a field for schemas only.
  const isSent = dialect.format && request.options?.format?.type !== "json_object"
  const messages = withFormat(messagesFor(request, dialect), request, isSent)
  const system = messages.flatMap(({ role, text }) => (role === "system" && text !== "" ? [text] : []))
  return JSON.stringify({
    model,
    max_tokens: request.maxOutputTokens,
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    messages: turnsOf(messages),
    stream: true,
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => encodeTool(tool, dialect)) }),
    ...anthropicFields(request, dialect)
  })
}

/** Sent first where turns were dropped: the first message must be the user's. */
const droppedTurns = "[The beginning of the conversation is left out.]"

/** Roles must alternate: all tool results of an answer, and a user message that follows, are one message. */
const turnsOf = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const message of messages) {
    const content = blocksOf(message)
    if (message.role === "system" || content.length === 0) continue
    const role = message.role === "assistant" ? "assistant" : "user"
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  return turns[0]?.role === "user" ? turns : [{ role: "user", content: textBlocks(droppedTurns) }, ...turns]
}

const blocksOf = (message: ModelMessage): ReadonlyArray<Block> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
      return [...textBlocks(message.text), ...imagesOf(message).map(encodeImage)]
    case "assistant":
      return [...textBlocks(message.text), ...message.toolCalls.map(encodeCall)]
    case "tool":
      return [{ type: "tool_result", tool_use_id: callId(message.callId), content: message.text }]
  }
}

const encodeImage = ({ data, mediaType }: ModelImage): Block => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data }
})

/** Anthropic rejects a text of white space. */
const textBlocks = (text: string): Array<Block> => (text.trim() === "" ? [] : [{ type: "text", text }])

const encodeCall = (call: ToolCall): Block => ({
  type: "tool_use",
  id: callId(call.id),
  name: call.name,
  // Arguments that are no object were rejected by the tool, and the model knows.
  input: Option.getOrElse(decodeArguments(call.arguments), () => ({}))
})

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** An id of another provider may have characters that Anthropic rejects. */
const callId = (id: string): string => id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")

/** Models that enforce schemas enforce those of tools, too. */
const encodeTool = (tool: ToolSpec, { format }: Dialect): Block => ({
  name: tool.name,
  description: tool.description,
  input_schema: tool.parameters,
  ...(format && tool.strict === true ? { strict: true } : {})
})

/** Reads the events of one Messages stream, or one whole message. */
const makeDecodeAnthropic = (): Decode => {
  /** The counts so far: those of the input come first, and those of the output are final at the end. */
  let counts: Fields = {}
  /** The blocks that are calls of the request's tools; tools of the server have blocks as well. */
  const calls = new Set<number>()

  const decodeStart = (event: Fields): AnswerChunk => {
    const { message } = event
    if (!Predicate.isObject(message)) return malformed("a message is no object")
    // The output count of the first event is not final.
    if (Predicate.isObject(message["usage"])) counts = { ...message["usage"], output_tokens: null }
    return unknown
  }

  const decodeBlock = (event: Fields): AnswerChunk => {
    const block = event["content_block"]
    if (!Predicate.isObject(block)) return malformed("a block is no object")
    if (block["type"] === "text") return decodeTextDelta(block["text"])
    if (block["type"] !== "tool_use") return unknown
    const index = decodeCount(event["index"])
    const call = decodeCall(block, index)
    if (index === null || call === undefined) return malformed("a tool call is not well-formed")
    calls.add(index)
    return callDelta(call)
  }

  const decodeEnd = (event: Fields): AnswerChunk => {
    const { delta, usage } = event
    if (!Predicate.isObject(delta)) return malformed("a delta is no object")
    if (Predicate.isObject(usage)) counts = merged(counts, usage)
    const finish = decodeFinish(delta["stop_reason"])
    if (finish === undefined) return malformed("stop_reason is no text")
    return { ...thinking, finish, usage: finish === null ? null : decodeUsage(counts) }
  }

  return (data) => {
    const event = parseEvent(data)
    if (isUnreadable(event)) return event
    switch (event["type"]) {
      case "content_block_delta":
        return decodeDelta(event, calls)
      case "content_block_start":
        return decodeBlock(event)
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
      case undefined: {
        const error = event["error"]
        return error === undefined || error === null ? unknown : decodeError(error)
      }
      default:
        return unknown
    }
  }
}

const decodeDelta = (event: Fields, calls: ReadonlySet<number>): AnswerChunk => {
  const { delta } = event
  if (!Predicate.isObject(delta)) return malformed("a delta is no object")
  if (delta["type"] === "text_delta") return decodeTextDelta(delta["text"])
  if (delta["type"] !== "input_json_delta") return thinking
  const index = decodeCount(event["index"])
  const fragment = delta["partial_json"]
  if (index === null || typeof fragment !== "string") return malformed("a piece of arguments is no text")
  return calls.has(index) ? callDelta({ index, id: "", name: "", arguments: fragment }) : thinking
}

/** In a stream a call begins with an empty input, which is not part of its arguments. */
const decodeCall = (block: Fields, index: number | null): CallFragment | undefined => {
  const { id, input, name } = block
  if (typeof id !== "string" || typeof name !== "string") return undefined
  const isFilled = Predicate.isObject(input) && Object.keys(input).length > 0
  return { index, id, name, arguments: isFilled ? JSON.stringify(input) : "" }
}

/** null while the answer goes on; undefined where it isn't text. An unknown reason ends the answer as well. */
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
    default:
      return typeof reason === "string" ? "stop" : undefined
  }
}

const decodeDocument = (message: Fields): AnswerChunk => {
  const { content } = message
  if (!Array.isArray(content)) return malformed("content is no list")
  const finish = decodeFinish(message["stop_reason"])
  if (finish === undefined) return malformed("stop_reason is no text")
  const fragments: Array<CallFragment> = []
  let text = ""
  for (const [index, block] of content.entries()) {
    if (!Predicate.isObject(block)) return malformed("a block is no object")
    if (block["type"] === "text" && typeof block["text"] === "string") text += block["text"]
    if (block["type"] !== "tool_use") continue
    const call = decodeCall(block, index)
    if (call === undefined) return malformed("a tool call is not well-formed")
    fragments.push(call)
  }
  const usage = Predicate.isObject(message["usage"]) ? decodeUsage(message["usage"]) : null
  return { ...thinking, text, fragments, finish, usage }
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
    outputTokens,
    // Not every server counts the reasoning.
    reasoningTokens: decodeDetail(usage["output_tokens_details"], "thinking_tokens"),
    source: "provider"
  }
}

/** The version of the wire format that this adapter speaks. */
const anthropicVersion = "2023-06-01"

/** Anthropic Messages. */
export const anthropicMessages: Protocol = {
  name: "anthropic",
  path: "/messages",
  headers: (key) => ({
    "anthropic-version": anthropicVersion,
    ...(key === null ? {} : { "x-api-key": key })
  }),
  encode: encodeAnthropicRequest,
  adapt: adaptAnswer,
  lacks: anthropicLacks,
  makeDecode: makeDecodeAnthropic
}
