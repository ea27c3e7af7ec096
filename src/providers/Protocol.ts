import { Predicate } from "effect"
import type {
  AnswerOptions,
  FinishReason,
  ModelImage,
  ModelMessage,
  ModelRequest,
  ModelUsage,
  Opaque,
  Reasoning,
  ToolCall,
  ToolSpec
} from "../domain/ModelCall.ts"
import { type Adapt, type Dialect, offeredTools } from "./Dialect.ts"
import { errorInList, type ServerError } from "./ServerError.ts"

/** The wire format of a kind of model server: everything that differs between them. */
export interface Protocol {
  /** As catalog files name it. */
  readonly name: string
  /** Below the base URL. */
  readonly path: string
  /** The headers beside the content type; the key is null where the server needs none. */
  readonly headers: (key: string | null) => Readonly<Record<string, string>>
  /** The headers that depend on the request, besides; absent if none does. */
  readonly headersOf?: (
    model: string,
    request: ModelRequest,
    dialect: Dialect
  ) => Readonly<Record<string, string>>
  /** The request body, as JSON. */
  readonly encode: (model: string, request: ModelRequest, dialect: Dialect) => string
  readonly adapt: Adapt
  /** The first of the options that the format has no field for, by its name in requests; null if it has one for each. */
  readonly lacks: (options: AnswerOptions) => string | null
  /** One decoder for each answer: what an event means may depend on those before it. */
  readonly makeDecode: () => Decode
}

export const bearer = (key: string | null): Readonly<Record<string, string>> =>
  key === null ? {} : { authorization: `Bearer ${key}` }

/** The message with its tool calls or its tool result as plain text, for a request without tools. */
export const toolCallsAsText = (message: ModelMessage): ModelMessage => {
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
 * The messages of a request, with tool calls as text where no tools are offered: Anthropic rejects calls without the
 * definitions of tools, and so do gateways that translate other protocols for it.
 */
export const messagesFor = (
  request: Pick<ModelRequest, "messages" | "tools">,
  dialect: Dialect
): ReadonlyArray<ModelMessage> =>
  withJoinedReasoning(
    offeredTools(request, dialect).length > 0 ? request.messages : request.messages.map(toolCallsAsText)
  )

type AssistantMessage = Extract<ModelMessage, { readonly role: "assistant" }>

const saysNothing = ({ text, toolCalls }: AssistantMessage): boolean =>
  text.trim() === "" && toolCalls.length === 0

/** Reasoning that stands alone goes before what the model said next, and is left out where that was nothing. */
const withJoinedReasoning = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const joined: Array<ModelMessage> = []
  let alone: ReadonlyArray<Reasoning> = []
  for (const message of messages) {
    if (message.role !== "assistant") {
      alone = []
      joined.push(message)
    } else if (message.reasoning !== undefined && saysNothing(message)) {
      alone = [...alone, ...message.reasoning]
    } else {
      joined.push(
        alone.length === 0 ? message : { ...message, reasoning: [...alone, ...(message.reasoning ?? [])] }
      )
      alone = []
    }
  }
  return joined
}

/**
 * The messages without what the model can't read: reasoning and opaque values of another origin. Nothing else decides what of them
 * reaches a server.
 */
export const readableBy = (
  origin: string,
  messages: ReadonlyArray<ModelMessage>
): ReadonlyArray<ModelMessage> =>
  messages.map((message) => {
    if (message.role !== "assistant") return message
    const { reasoning = [], toolCalls, ...said } = message
    const kept = reasoning.filter(isOf(origin))
    return {
      ...said,
      toolCalls: toolCalls.map((call) => readableCall(origin, call)),
      ...(kept.length === 0 ? {} : { reasoning: kept })
    }
  })

const isOf =
  (origin: string) =>
  ({ opaque }: { readonly opaque?: Opaque | null }): boolean =>
    opaque?.origin === origin

const readableCall = (origin: string, { opaque, reasoning = [], ...call }: ToolCall): ToolCall => {
  const kept = reasoning.filter(isOf(origin))
  return {
    ...call,
    ...(opaque?.origin === origin ? { opaque } : {}),
    ...(kept.length === 0 ? {} : { reasoning: kept })
  }
}

export const imagesOf = (message: ModelMessage): ReadonlyArray<ModelImage> =>
  message.role === "user" ? (message.images ?? []) : []

/** Whether a message can be merged into the one before it. Tool results must follow the message with the calls. */
const isMergeable = (before: ModelMessage, message: ModelMessage): boolean =>
  before.role === message.role &&
  before.role !== "tool" &&
  (before.role !== "assistant" || before.toolCalls.length === 0) &&
  // What was thought between two texts would lose its place.
  (message.role !== "assistant" || message.reasoning === undefined || message.toolCalls.length > 0)

/** Merges messages in a row of the same role, which the chat templates of some models reject. */
export const mergeSameRole = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const turns: Array<{ readonly all: Array<ModelMessage>; last: ModelMessage }> = []
  for (const message of messages) {
    const turn = turns.at(-1)
    if (turn === undefined || !isMergeable(turn.last, message)) turns.push({ all: [message], last: message })
    else {
      turn.all.push(message)
      turn.last = message
    }
  }
  return turns.map(({ all, last }) => {
    if (all.length === 1) return last
    const text = all.flatMap((one) => (one.text === "" ? [] : [one.text])).join("\n\n")
    const images = all.flatMap(imagesOf)
    if (last.role === "assistant") return mergedAnswer(all, last, text)
    return images.length === 0 ? { ...last, text } : { role: "user", text, images }
  })
}

/** What was thought before the calls of the last message stays before them. */
const mergedAnswer = (
  all: ReadonlyArray<ModelMessage>,
  { reasoning: late = [], toolCalls }: AssistantMessage,
  text: string
): AssistantMessage => {
  const before = all
    .slice(0, -1)
    .flatMap((message) => (message.role === "assistant" ? (message.reasoning ?? []) : []))
  const calls = toolCalls.map((call, index) =>
    index > 0 || late.length === 0 ? call : { ...call, reasoning: [...late, ...(call.reasoning ?? [])] }
  )
  return {
    role: "assistant",
    text,
    toolCalls: calls,
    ...(before.length === 0 ? {} : { reasoning: before })
  }
}

/**
 * Adds the tools to the JSON of a request. Their own JSON is kept: it is most of a short request, and nearly all requests offer the same
 * ones.
 */
export const makeWithTools = (encodeTool: (tool: ToolSpec) => object) => {
  const encoded = new WeakMap<ReadonlyArray<ToolSpec>, string>()
  return (json: string, tools: ReadonlyArray<ToolSpec>): string => {
    let list = encoded.get(tools)
    if (list === undefined) {
      list = JSON.stringify(tools.map(encodeTool))
      encoded.set(tools, list)
    }
    return `${json.slice(0, -1)},"tools":${list}}`
  }
}

/** A piece of a tool call in a delta. */
export interface CallFragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** What only the server can read of the call, as JSON. */
  readonly data?: string
  /** Reasoning that ended directly before the call, in an answer that comes whole. */
  readonly blocks?: ReadonlyArray<ThoughtBlock>
}

/** Reasoning that is complete. */
export interface ThoughtBlock {
  /** All of its text; null for the pieces since the block before it. */
  readonly text: string | null
  /** What goes back of it, as JSON that only the protocol reads; null if nothing. */
  readonly data: string | null
}

/** A part of an answer, or a whole one; every field may be empty. */
interface AnswerDelta {
  readonly type: "delta"
  readonly text: string
  /** Whether the model produced anything, be it reasoning. */
  readonly progress: boolean
  readonly fragments: ReadonlyArray<CallFragment>
  readonly finish: FinishReason | null
  readonly usage: ModelUsage | null
  /** Whether the text says that the model refuses to answer. */
  readonly isRefusal?: true
  /** A piece of what the model thinks. */
  readonly thought?: string
  /** Reasoning that ended before the text and the calls of this part. */
  readonly blocks?: ReadonlyArray<ThoughtBlock>
}

/**
 * The content of one event of a stream, or of one whole answer, in every protocol. A valid event of an unknown kind, such as a
 * ping, is `unknown`; one that contradicts the format is `malformed`.
 */
export type AnswerChunk =
  | AnswerDelta
  | { readonly type: "usage"; readonly usage: ModelUsage | null }
  | { readonly type: "done" | "unknown" }
  | ServerError
  | { readonly type: "malformed"; readonly detail: string }

/** Decodes the events of one answer, in their order. */
export type Decode = (data: string) => AnswerChunk

export type Fields = Readonly<Record<PropertyKey, unknown>>

export const unknown: AnswerChunk = { type: "unknown" }
export const done: AnswerChunk = { type: "done" }
export const malformed = (detail: string): AnswerChunk => ({ type: "malformed", detail })
export const noFragments: ReadonlyArray<CallFragment> = []

/** The model is at work without output for the client. */
export const thinking: AnswerDelta = {
  type: "delta",
  text: "",
  progress: true,
  fragments: noFragments,
  finish: null,
  usage: null
}

/** A piece of what the model thinks. */
export const thoughtDelta = (thought: unknown): AnswerChunk =>
  typeof thought === "string" ? { ...thinking, thought } : malformed("a piece of reasoning is no text")

/** Reasoning that is complete. */
export const thoughtBlock = (block: ThoughtBlock): AnswerChunk => ({ ...thinking, blocks: [block] })

/** Every token passes here, and a copy of `thinking` would cost as much as parsing an event. */
export const decodeTextDelta = (text: unknown): AnswerChunk =>
  typeof text === "string"
    ? { type: "delta", text, progress: text !== "", fragments: noFragments, finish: null, usage: null }
    : malformed("a piece of text is no text")

/** Text by which the model refuses to answer. */
export const decodeRefusalDelta = (text: unknown): AnswerChunk => {
  const decoded = decodeTextDelta(text)
  return decoded.type === "delta" && decoded.progress ? { ...decoded, isRefusal: true } : decoded
}

export const callDelta = (fragment: CallFragment): AnswerChunk => ({ ...thinking, fragments: [fragment] })

/** Undefined for what is no JSON. Every token passes here: decoding by Schema would cost several times the rest of the delivery. */
export const parseJson = (text: string): unknown => {
  try {
    // oxlint-disable-next-line no-restricted-properties -- every token passes here; a Schema costs several times the rest
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The fields of one event. The decoders check the few that matter by hand. */
export const parseEvent = (data: string): Fields | Extract<AnswerChunk, { readonly type: "malformed" }> => {
  const json = parseJson(data)
  if (json === undefined) return notJson
  return Predicate.isObject(json) ? json : (errorInList(json) ?? noObject)
}

const notJson = { type: "malformed", detail: "an event that is not JSON" } as const
const noObject = { type: "malformed", detail: "an event that is no object" } as const

/** Whether `parseEvent` failed. */
export const isUnreadable = (
  event: ReturnType<typeof parseEvent>
): event is Extract<AnswerChunk, { readonly type: "malformed" }> => event === notJson || event === noObject
