import type { StoredTurn } from "../domain/Conversation.ts"
import type { FileId } from "../domain/Ids.ts"
import type { InputItem, McpCall, StoredItem } from "../domain/Item.ts"
import type { ModelMessage, ToolCall, ToolSpec } from "../domain/ModelCall.ts"
import { estimateMessageTokens, estimateTokens } from "../domain/Tokens.ts"
import {
  fairShares,
  fileFrameTokens,
  historyFileTokensMax,
  type PromptFiles,
  renderFile
} from "./FileParts.ts"
import { callIdOf, resultText } from "./ToolRounds.ts"

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
  /** The files that items of the history or of the turn refer to. */
  readonly files: PromptFiles
  /** What a model that can call tools is offered. */
  readonly tools: ToolOffer
  /** The message with what was found in a project's files, in front of the turn; null where no project was named. */
  readonly knowledge: ModelMessage | null
}

/** At most this share of a context window is kept free for the answer; a longer answer has to fit what is left. */
const answerShareMax = 0.25

/** How a file is shown in the place of a part that refers to it. */
type ShowFile = (id: FileId) => string

const nothing: ShowFile = () => ""

type Parts = Extract<StoredItem, { readonly type: "message" }>["content"]

const messageText = (content: Parts, show: ShowFile): string =>
  content.map((part) => (part.type === "input_file" ? show(part.file_id) : part.text)).join("\n")

/** The files that items refer to, each once. */
export const filesOf = (items: ReadonlyArray<StoredItem>): ReadonlyArray<FileId> => [
  ...new Set(
    items.flatMap((item) =>
      item.type === "message"
        ? item.content.flatMap((part) => (part.type === "input_file" ? [part.file_id] : []))
        : []
    )
  )
]

const callOf = ({ arguments: args, id, name }: McpCall): ToolCall => ({
  id: callIdOf(id),
  name,
  arguments: args
})

/** A model without tools can't read a tool call as such, so that it goes without. */
const isHeard = (item: StoredItem, tools: boolean): boolean =>
  item.type === "message" || (tools && item.type === "mcp_call")

/** The messages of a turn's items. A text and the calls behind it are one message of the model's, as it once wrote them. */
const messagesOf = (items: ReadonlyArray<StoredItem>, tools: boolean, show: ShowFile) => {
  const messages: Array<ModelMessage> = []
  let calling: { readonly text: string; readonly calls: Array<McpCall> } | null = null
  const endCalls = () => {
    if (calling === null) return
    const { calls, text } = calling
    calling = null
    messages.push({ role: "assistant", text, toolCalls: calls.map(callOf) })
    for (const { error, id, name, output } of calls) {
      messages.push({ role: "tool", callId: callIdOf(id), name, text: resultText({ error, output }) })
    }
  }
  for (const item of items.filter((one) => isHeard(one, tools))) {
    if (item.type === "mcp_call") {
      calling ??= { text: lastWords(messages), calls: [] }
      calling.calls.push(item)
    } else if (item.type === "message") {
      endCalls()
      const text = messageText(item.content, show)
      messages.push(
        item.role === "user" ? { role: "user", text } : { role: "assistant", text, toolCalls: [] }
      )
    }
  }
  endCalls()
  return messages
}

/** Takes back what the model said last, if nobody has said anything since. */
const lastWords = (messages: Array<ModelMessage>): string => {
  const last = messages.at(-1)
  if (last?.role !== "assistant" || last.toolCalls.length > 0) return ""
  messages.pop()
  return last.text
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

/** What items take without the texts of their files. */
const bareTokens = (items: ReadonlyArray<StoredItem>): number =>
  tokensOf(messagesOf(items, true, nothing)) + filesOf(items).length * fileFrameTokens

/** What a stored turn will add to later prompts, in estimated tokens. */
export const turnTokens = (items: ReadonlyArray<StoredItem>, files: PromptFiles): number =>
  filesOf(items).reduce(
    (sum, id) => sum + Math.min(historyFileTokensMax, files.get(id)?.tokens ?? 0),
    bareTokens(items)
  )

/** The least that must be sent, in estimated tokens: everything but earlier turns and the texts of files. */
export const leastTokens = (parts: PromptParts): number =>
  tokensOf(systemMessages(parts)) +
  tokensOf(knowledgeOf(parts)) +
  bareTokens(parts.items) +
  parts.tools.tokens

const knowledgeOf = ({ knowledge }: PromptParts): ReadonlyArray<ModelMessage> =>
  knowledge === null ? [] : [knowledge]

/** Tools, and what describing them takes of a prompt. They are the same for every request, so they are counted once. */
export interface ToolOffer {
  readonly specs: ReadonlyArray<ToolSpec>
  readonly tokens: number
}

export const toolOffer = (specs: ReadonlyArray<ToolSpec>): ToolOffer => ({
  specs,
  tokens: specs.length === 0 ? 0 : estimateTokens(JSON.stringify(specs))
})

interface Room {
  /** Tokens for the text of each file of the turn. */
  readonly files: ReadonlyMap<FileId, number>
  /** Tokens for earlier turns. */
  readonly history: number
}

/**
 * What a window leaves once the least and room for an answer are set aside: first for the files of the turn, who share it
 * fairly, and then for earlier turns.
 */
const roomOf = (parts: PromptParts, contextWindow: number, answerTokens: number): Room => {
  const answer = Math.min(answerTokens, Math.floor(contextWindow * answerShareMax))
  const room = Math.max(0, contextWindow - leastTokens(parts) - answer)
  const ids = filesOf(parts.items)
  const shares = fairShares(
    ids.map((id) => parts.files.get(id)?.tokens ?? 0),
    room
  )
  return {
    files: new Map(ids.map((id, index) => [id, shares[index] ?? 0])),
    history: room - shares.reduce((sum, share) => sum + share, 0)
  }
}

/** Tokens that earlier turns may take in a window. */
export const historyTokensMax = (parts: PromptParts, contextWindow: number, answerTokens: number): number =>
  roomOf(parts, contextWindow, answerTokens).history

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
  /** Turns of the history that were cut off. */
  readonly forgottenTurns: number
}

/**
 * The messages for one model. History that doesn't fit is cut from the oldest turn on, and never within a turn; the
 * system message and the turn to answer always stay, and of its files as much as the window holds.
 */
export const assemble = (
  parts: PromptParts,
  model: { readonly contextWindow: number; readonly tools: boolean },
  answerTokens: number
): Prompt => {
  const room = roomOf(parts, model.contextWindow, answerTokens)
  const kept = parts.history.slice(parts.history.length - newestThatFit(parts.history, room.history))
  const before: ShowFile = (id) => renderFile(id, parts.files.get(id), historyFileTokensMax)
  const now: ShowFile = (id) => renderFile(id, parts.files.get(id), room.files.get(id) ?? 0)
  const messages = [
    ...systemMessages(parts),
    ...kept.flatMap((turn) => messagesOf([...turn.input, ...turn.output], model.tools, before)),
    ...knowledgeOf(parts),
    ...messagesOf(parts.items, model.tools, now)
  ]
  const forgottenTurns = parts.history.length - kept.length
  const promptTokens = tokensOf(messages) + (model.tools ? parts.tools.tokens : 0)
  return { messages, promptTokens, forgottenTurns }
}
