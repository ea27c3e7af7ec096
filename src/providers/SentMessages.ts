import {
  type ModelImage,
  type ModelMessage,
  type ModelRequest,
  type Opaque,
  type Reasoning,
  type ToolCall
} from "../domain/ModelCall.ts"
import { type Dialect, offeredTools } from "./Dialect.ts"

/** The messages of a request, before a protocol encodes them. */

/** The message with its tool calls or its tool result as plain text, for a request without tools. */
export const toolCallsAsText = (message: ModelMessage): ModelMessage => {
  switch (message.role) {
    case "system":
    case "user":
      return message
    case "assistant": {
      if (message.toolCalls.length === 0) return message
      const calls = message.toolCalls.map((call) => `[called ${call.name} with ${call.arguments}]`)
      const text = [message.text, ...calls].filter((part) => part !== "").join("\n")
      return { role: "assistant", text, toolCalls: [] }
    }
    case "tool": {
      const { images, name, text } = message
      const shown = `[result of ${name}]\n${text}`
      return { role: "user", text: shown, ...(images === undefined ? {} : { images }) }
    }
  }
}

/**
 * The messages of a request, with tool calls as text if no tools are offered. Anthropic rejects calls without
 * the definitions of tools, and so do gateways that translate other protocols for it.
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

/** Moves reasoning without a message to the next answer, and drops it if no answer follows. */
const withJoinedReasoning = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const joined: Array<ModelMessage> = []
  let alone: ReadonlyArray<Reasoning> = []
  for (const message of messages) {
    if (message.role !== "assistant") {
      alone = []
      joined.push(message)
    } else if (saysNothing(message)) {
      // An empty answer is dropped, even if the reasoning of another model was removed from it before.
      alone = [...alone, ...(message.reasoning ?? [])]
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
 * The messages without reasoning and opaque values of another origin, which the model can't read. No other
 * code filters them before they reach a server.
 */
export const readableBy = (
  origin: string,
  messages: ReadonlyArray<ModelMessage>,
  alsoFrom: string | null = null
): ReadonlyArray<ModelMessage> => {
  const isReadable = isOf(alsoFrom === null ? [origin] : [origin, alsoFrom])
  return messages.map((message) => {
    if (message.role !== "assistant") return message
    const { reasoning = [], toolCalls, ...said } = message
    const kept = reasoning.filter(isReadable)
    return {
      ...said,
      toolCalls: toolCalls.map((call) => readableCall(isReadable, call)),
      ...(kept.length === 0 ? {} : { reasoning: kept })
    }
  })
}

/**
 * The messages with the ids that the server itself gave its calls, which some servers demand unchanged. An id
 * that the server gave several calls is kept for the first only, so that a later call changes no earlier part
 * of the prompt.
 */
export const withServersIds = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const given = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []))
  const counts = new Map<string, number>()
  for (const { id } of given) counts.set(id, (counts.get(id) ?? 0) + 1)
  const renamed = new Map<string, string>()
  const taken = new Set(counts.keys())
  for (const { id, opaque } of given) {
    const own = opaque?.callId
    if (own === undefined || taken.has(own) || counts.get(id) !== 1) continue
    taken.add(own)
    renamed.set(id, own)
  }
  const idOf = (id: string) => renamed.get(id) ?? id
  return messages.map((message) => {
    if (message.role === "tool") return { ...message, callId: idOf(message.callId) }
    if (message.role !== "assistant" || message.toolCalls.length === 0) return message
    return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: idOf(call.id) })) }
  })
}

const isOf =
  (origins: ReadonlyArray<string>) =>
  ({ opaque }: { readonly opaque?: Opaque | null | undefined }): boolean =>
    opaque != null && origins.includes(opaque.origin)

const readableCall = (
  isReadable: ReturnType<typeof isOf>,
  { opaque, reasoning = [], ...call }: ToolCall
): ToolCall => {
  const kept = reasoning.filter(isReadable)
  return {
    ...call,
    ...(opaque !== undefined && isReadable({ opaque }) ? { opaque } : {}),
    ...(kept.length === 0 ? {} : { reasoning: kept })
  }
}

export const imagesOf = (message: ModelMessage): ReadonlyArray<ModelImage> =>
  message.role === "user" || message.role === "tool" ? (message.images ?? []) : []

const imagesBehind = "[The images in the results above, in their order.]"

/**
 * The messages with images of results in a user message behind the results, for protocols without images in
 * results.
 */
export const withImagesBehind = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> => {
  const sent: Array<ModelMessage> = []
  let images: ReadonlyArray<ModelImage> = []
  const release = () => {
    if (images.length > 0) sent.push({ role: "user", text: imagesBehind, images })
    images = []
  }
  for (const message of messages) {
    if (message.role === "tool") {
      const { images: own = [], ...rest } = message
      sent.push(rest)
      images = [...images, ...own]
    } else {
      release()
      sent.push(message)
    }
  }
  release()
  return sent
}

/**
 * True if a message can be merged into the previous one. Tool results must follow the message with the calls.
 */
const isMergeable = (before: ModelMessage, message: ModelMessage): boolean =>
  before.role === message.role &&
  before.role !== "tool" &&
  (before.role !== "assistant" || before.toolCalls.length === 0) &&
  // Reasoning between two texts would lose its place.
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

/** Keeps the reasoning before the calls of the last message in its place. */
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
