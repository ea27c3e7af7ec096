import type { StoredTurn } from "../domain/Conversation.ts"
import type { InputItem, McpCall, StoredItem } from "../domain/Item.ts"
import type { ModelMessage } from "../domain/ModelCall.ts"
import { estimateMessageTokens } from "../domain/Tokens.ts"

/** What a prompt is made from. */
export interface PromptParts {
  /** The conversation's own system message. */
  readonly systemMessage: string | null
  /** What holds for this response only, in the order of the request. */
  readonly directions: ReadonlyArray<string>
  /** Earlier turns, oldest first. */
  readonly history: ReadonlyArray<StoredTurn>
  /** The turn to answer. */
  readonly items: ReadonlyArray<InputItem>
}

/** At most this share of a context window is kept free for the answer; a longer answer has to fit what is left. */
const answerShareMax = 0.25

const messageText = (item: {
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}) => item.content.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n")

const callMessages = (call: McpCall): ReadonlyArray<ModelMessage> => [
  {
    role: "assistant",
    text: "",
    toolCalls: [{ id: call.id, name: call.name, arguments: call.arguments }]
  },
  { role: "tool", callId: call.id, name: call.name, text: call.output ?? call.error ?? "" }
]

/** A model without tools can't read a tool call as such, so that it goes without. */
const itemMessages = (item: StoredItem, tools: boolean): ReadonlyArray<ModelMessage> => {
  switch (item.type) {
    case "message":
      return item.role === "user"
        ? [{ role: "user", text: messageText(item) }]
        : [{ role: "assistant", text: messageText(item), toolCalls: [] }]
    case "mcp_call":
      return tools ? callMessages(item) : []
    case "file_search_call":
      return []
  }
}

const tokensOf = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? message.toolCalls : []
    const inCalls = calls.reduce((all, call) => all + estimateMessageTokens(call.name + call.arguments), 0)
    return sum + estimateMessageTokens(message.text) + inCalls
  }, 0)

const systemMessages = (parts: PromptParts): ReadonlyArray<ModelMessage> => {
  const texts = [parts.systemMessage ?? "", ...parts.directions].filter((text) => text !== "")
  // One message, because some chat templates take no second one.
  return texts.length === 0 ? [] : [{ role: "system", text: texts.join("\n\n") }]
}

const messagesOf = (items: ReadonlyArray<StoredItem>, tools: boolean) =>
  items.flatMap((item) => itemMessages(item, tools))

/** What a stored turn will add to later prompts, in estimated tokens. */
export const turnTokens = (items: ReadonlyArray<StoredItem>): number => tokensOf(messagesOf(items, true))

/** The least that must be sent: the system message, the directions and the turn itself, in estimated tokens. */
export const leastTokens = (parts: PromptParts): number =>
  tokensOf([...systemMessages(parts), ...messagesOf(parts.items, true)])

/** Tokens that earlier turns may take in a window, once the least and room for an answer are set aside. */
export const historyTokensMax = (contextWindow: number, least: number, answerTokens: number): number =>
  Math.max(0, contextWindow - least - Math.min(answerTokens, Math.floor(contextWindow * answerShareMax)))

/** How many turns, counted from the newest, fit into `tokensMax`. */
const newestThatFit = (history: ReadonlyArray<StoredTurn>, tokensMax: number): number => {
  let tokens = 0
  let count = 0
  for (const turn of history.toReversed()) {
    tokens += turn.promptTokens
    if (tokens > tokensMax) break
    count++
  }
  return count
}

export interface Prompt {
  readonly messages: ReadonlyArray<ModelMessage>
  /** The estimate for all of them. */
  readonly promptTokens: number
}

/**
 * The messages for one model. History that doesn't fit is cut from the oldest turn on, and never within a turn; the
 * system message and the turn to answer always stay.
 */
export const assemble = (
  parts: PromptParts,
  model: { readonly contextWindow: number; readonly tools: boolean },
  answerTokens: number
): Prompt => {
  const tokensMax = historyTokensMax(model.contextWindow, leastTokens(parts), answerTokens)
  const kept = parts.history.slice(parts.history.length - newestThatFit(parts.history, tokensMax))
  const messages = [
    ...systemMessages(parts),
    ...kept.flatMap((turn) => messagesOf([...turn.input, ...turn.output], model.tools)),
    ...messagesOf(parts.items, model.tools)
  ]
  return { messages, promptTokens: tokensOf(messages) }
}
