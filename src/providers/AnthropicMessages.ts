import { Option, Schema } from "effect"
import type {
  ModelImage,
  ModelMessage,
  ModelRequest,
  Reasoning,
  ToolCall,
  ToolSpec
} from "../domain/ModelCall.ts"
import { anthropicFields, anthropicLacks, anthropicThinking, withFormat } from "./AnswerFields.ts"
import { makeDecodeAnthropic } from "./AnthropicAnswer.ts"
import { bindingBeta, claudeModel, thinksAt } from "./ClaudeModels.ts"
import { adaptAnswer, type Adapt, type Dialect, offeredTools, refusesField } from "./Dialect.ts"
import { goOn } from "./LastMessage.ts"
import { type Protocol } from "./Protocol.ts"
import { imagesOf, messagesFor, toolCallsAsText } from "./SentMessages.ts"

type Block = Readonly<Record<string, unknown>>

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<Block>
}

/** Returns the blocks of the reasoning. */
type EncodeThoughts = (thoughts: ReadonlyArray<Reasoning> | undefined) => ReadonlyArray<Block>

/** The request body of a Messages call, as JSON. */
export const encodeAnthropicRequest = (model: string, request: ModelRequest, dialect: Dialect): string => {
  const tools = offeredTools(request, dialect).map((tool) => encodeTool(tool, dialect))
  // The protocol has a field for schemas only.
  const isSent = dialect.format && request.options?.format?.type !== "json_object"
  const shown = roundsFor(request, dialect)
  const messages = withFormat(messagesFor({ ...request, messages: shown }, dialect), request, isSent)
  const system = messages.flatMap(({ role, text }) => (role === "system" && text.trim() !== "" ? [text] : []))
  const marks = dialect.cacheControl && claudeModel(model) !== undefined ? markLast : unmarked
  const turns = endedTurns(turnsOf(messages, encodeThoughtsFor(model, request, dialect)), model, dialect)
  return JSON.stringify({
    model,
    max_tokens: request.maxOutputTokens,
    ...(system.length === 0 ? {} : { system: encodeSystem(system.join("\n\n"), marks) }),
    messages: withMarkedQuestion(turns, marks),
    stream: true,
    ...(tools.length === 0 ? {} : { tools: marks(tools) }),
    ...anthropicFields(model, request, dialect)
  })
}

type Marks = (blocks: ReadonlyArray<Block>) => ReadonlyArray<Block>

/** The server caches what precedes a mark, the mark's block included. */
const markLast: Marks = (blocks) =>
  blocks.map((block, index) =>
    index === blocks.length - 1 ? { ...block, cache_control: { type: "ephemeral" } } : block
  )

const unmarked: Marks = (blocks) => blocks

const encodeSystem = (text: string, marks: Marks) =>
  marks === unmarked ? text : marks([{ type: "text", text }])

/** Marks the last block of the last message of the user, or of the last results of tools. */
const withMarkedQuestion = (turns: ReadonlyArray<Turn>, marks: Marks): ReadonlyArray<Turn> => {
  const last = turns.findLastIndex(({ role }) => role === "user")
  return turns.map((turn, index) => (index === last ? { ...turn, content: marks(turn.content) } : turn))
}

/**
 * The messages of the request. Without thinking, rounds of calls are text.
 *
 * A model that thinks may refuse calls without a thinking block before them. Calls of other models and of
 * clients have no such block, so a refused request is repeated once without all thinking.
 */
const roundsFor = ({ messages }: ModelRequest, { thoughts }: Dialect): ReadonlyArray<ModelMessage> =>
  thoughts ? messages : messages.map(toolCallsAsText)

/** Thinking blocks go back to models that think now, and to unknown ones. */
const encodeThoughtsFor = (model: string, { options }: ModelRequest, dialect: Dialect): EncodeThoughts => {
  const thinks = thinksAt(model, options?.reasoningEffort)
  if (!dialect.thoughts || thinks === false) return () => []
  return (thoughts = []) =>
    thoughts.flatMap(({ opaque }) => {
      const block = Option.getOrUndefined(decodeThought(opaque?.data))
      // Claude signs its blocks, and takes no others.
      const isUnsigned = block?.type === "thinking" && !block["signature"]
      return block === undefined || (thinks === true && isUnsigned) ? [] : [block]
    })
}

const decodeThought = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.StructWithRest(Schema.Struct({ type: Schema.Literals(["thinking", "redacted_thinking"]) }), [
      Schema.Record(Schema.String, Schema.Unknown)
    ])
  )
)

/** The first message if turns were dropped, because the first message must be the user's. */
export const droppedTurns = "[The beginning of the conversation is left out.]"

/** Roles must alternate: all tool results of an answer, and a user message that follows, are one message. */
const turnsOf = (
  messages: ReadonlyArray<ModelMessage>,
  encodeThoughts: EncodeThoughts
): ReadonlyArray<Turn> => {
  const turns: Array<{ readonly role: Turn["role"]; readonly content: Array<Block> }> = []
  for (const message of messages) {
    const content = blocksOf(message, encodeThoughts)
    if (message.role === "system" || content.length === 0) continue
    const role = message.role === "assistant" ? "assistant" : "user"
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  return turns.length === 0 || turns[0]?.role === "user"
    ? turns
    : [{ role: "user", content: textBlocks(droppedTurns) }, ...turns]
}

/**
 * Makes the last message one that the server accepts.
 *
 * Models that don't think continue their own text at the end, and their server refuses white space behind it.
 * Models that think refuse such an end. All refuse a request without a user message.
 */
const endedTurns = (
  turns: ReadonlyArray<Turn>,
  model: string,
  { lastMessage }: Dialect
): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  if (last?.role === "user") return turns
  const thinks = claudeModel(model)?.thinks ?? "never"
  if (last === undefined || lastMessage === "followed" || thinks !== "never")
    return [...turns, { role: "user", content: textBlocks(goOn) }]
  const content = last.content.map((block, index) =>
    index === last.content.length - 1 && typeof block["text"] === "string"
      ? { ...block, text: block["text"].trimEnd() }
      : block
  )
  return [...turns.slice(0, -1), { ...last, content }]
}

const blocksOf = (message: ModelMessage, encodeThoughts: EncodeThoughts): ReadonlyArray<Block> => {
  switch (message.role) {
    case "system":
      return []
    case "user":
      return [...textBlocks(message.text), ...imagesOf(message).map(encodeImage)]
    case "assistant":
      return [
        ...encodeThoughts(message.reasoning),
        ...textBlocks(message.text),
        ...message.toolCalls.flatMap((call) => [...encodeThoughts(call.reasoning), encodeCall(call)])
      ]
    case "tool":
      return [{ type: "tool_result", tool_use_id: callId(message.callId), content: encodeResult(message) }]
  }
}

const encodeResult = (message: Extract<ModelMessage, { role: "tool" }>): string | ReadonlyArray<Block> => {
  const images = imagesOf(message)
  return images.length === 0 ? message.text : [...textBlocks(message.text), ...images.map(encodeImage)]
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
  // The tool has rejected arguments that are no object, and its result says so.
  input: Option.getOrElse(decodeArguments(call.arguments), () => ({}))
})

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** An id of another provider may have characters that Anthropic rejects. */
const callId = (id: string): string => id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")

/** Models that enforce schemas of answers also enforce those of tools. */
const encodeTool = (tool: ToolSpec, { format }: Dialect): Block => ({
  name: tool.name,
  description: tool.description,
  input_schema: tool.parameters,
  ...(format && tool.strict === true ? { strict: true } : {})
})

/** A complaint about a thinking block of an earlier message that isn't valid here, or that is missing. */
const aboutThoughts = /\bmessages\.\d+.*thinking/s

/** A complaint about the fields of `thinking`, or about the header that one of them needs. */
const aboutControls = /\bthinking(\.\w+)*:|\bblock_binding\b|anthropic-beta|\bbeta flag/

/** Leaves out the earlier thinking, the controls of the thinking, or the marks of the cache. */
const adaptAnthropic: Adapt = (dialect, complaint, request) => {
  if (aboutThoughts.test(complaint)) {
    return dialect.thoughts && request.messages.some(isAnswer) ? { ...dialect, thoughts: false } : null
  }
  if (dialect.cacheControl && refusesField(complaint, "cache_control")) {
    return { ...dialect, cacheControl: false }
  }
  if (dialect.thinkingControls && aboutControls.test(complaint)) {
    return { ...dialect, thinkingControls: false }
  }
  return adaptAnswer(dialect, complaint, request)
}

const isAnswer = (message: ModelMessage): boolean =>
  message.role === "assistant" && (message.reasoning !== undefined || message.toolCalls.length > 0)

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
  headersOf: (model, request, dialect): Readonly<Record<string, string>> => {
    const thinking = anthropicThinking(model, request, dialect)
    const isBound = thinking?.type === "adaptive" && thinking.block_binding !== undefined
    return isBound ? { "anthropic-beta": bindingBeta } : {}
  },
  encode: encodeAnthropicRequest,
  adapt: adaptAnthropic,
  lacks: anthropicLacks,
  makeDecode: makeDecodeAnthropic
}
