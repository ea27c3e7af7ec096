import type { FileId, ItemId } from "../domain/Ids.ts"
import { type McpCall, type StoredItem, unknownCall } from "../domain/Item.ts"
import type { ModelMessage, ToolCall } from "../domain/ModelCall.ts"
import { estimateMessageTokens } from "../domain/Tokens.ts"
import { tellCalls } from "../providers/Protocol.ts"
import type { ToolResult } from "../tools/Toolkit.ts"
import { isSameRound } from "./ItemIds.ts"
import { Option, Schema } from "effect"

/** Some servers take no id that is longer, and none with a hyphen in it. */
const callIdCharacters = 9

/** The id of a call as models are told it; their own ids aren't always different from each other. */
export const callIdOf = (id: ItemId): string => id.replaceAll("-", "").slice(-callIdCharacters)

/** Characters of a tool's name that every server takes. */
const nameCharactersMax = 64

/** The name of a call as every server takes it; the model may have written anything. */
export const sentName = (name: string): string =>
  name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, nameCharactersMax) || "unknown"

const decodeArguments = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/**
 * A call as it goes back to a model. Servers parse the arguments of earlier calls and refuse what is no JSON object; the
 * call's result tells the model what was wrong with them.
 */
export const sentCall = (
  id: ItemId,
  call: { readonly name: string; readonly arguments: string }
): ToolCall => ({
  id: callIdOf(id),
  name: sentName(call.name),
  arguments: Option.isSome(decodeArguments(call.arguments)) ? call.arguments : "{}"
})

/** What a model hears of a result. */
export const resultText = ({ error, output }: ToolResult): string => output ?? `Error: ${error ?? "unknown"}`

/** How a file is shown in the place of a part that refers to it. */
export type ShowFile = (id: FileId) => string

/** Shows each file once, and only mentions it at its other places. `shown` knows what is shown elsewhere, and learns. */
export const showOnce =
  (shown: Set<FileId>, show: ShowFile, mention: ShowFile): ShowFile =>
  (id) => {
    if (shown.has(id)) return mention(id)
    shown.add(id)
    return show(id)
  }

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

/** In the place of an answer that isn't there: some chat templates demand one behind each question, and behind results. */
const noAnswer = "(No answer.)"

/** In front of what begins with an answer: some chat templates demand that a conversation begins with the user. */
const unknownBeginning = "[What was said before is left out.]"

/** Calls and their results as the model once wrote and heard them. The text in front of the calls belongs to them. */
const roundMessages = (text: string, calls: ReadonlyArray<McpCall>): ReadonlyArray<ModelMessage> => [
  { role: "assistant", text, toolCalls: calls.map((call) => sentCall(call.id, call)) },
  ...calls.map(({ error, id, name, output }): ModelMessage => ({
    role: "tool",
    callId: callIdOf(id),
    name: sentName(name),
    text: resultText({ error, output })
  }))
]

/** Takes back what the model said last, if nobody has said anything since. */
const lastWords = (messages: Array<ModelMessage>): string => {
  const last = messages.at(-1)
  if (last?.role !== "assistant" || last.toolCalls.length > 0) return ""
  messages.pop()
  return last.text
}

/** The messages of items, with the calls of each round as the one message that they were. */
const plainMessages = (items: ReadonlyArray<StoredItem>, show: ShowFile): Array<ModelMessage> => {
  const messages: Array<ModelMessage> = []
  let calls: Array<McpCall> = []
  const endRound = () => {
    if (calls.length > 0) messages.push(...roundMessages(lastWords(messages), calls))
    calls = []
  }
  for (const item of items) {
    if (item.type === "mcp_call" && item.name !== unknownCall) {
      const before = calls.at(-1)
      if (before !== undefined && !isSameRound(before.id, item.id)) endRound()
      calls.push(item)
    } else if (item.type === "mcp_call") {
      endRound()
      messages.push({ role: "user", text: `[result of an earlier call]\n${resultText(item)}` })
    } else if (item.type === "message") {
      endRound()
      const text = messageText(item.content, show)
      messages.push(
        item.role === "user" ? { role: "user", text } : { role: "assistant", text, toolCalls: [] }
      )
    }
  }
  endRound()
  return messages
}

/** Puts an answer where a template demands one and there is none. */
const answered = (messages: ReadonlyArray<ModelMessage>): ReadonlyArray<ModelMessage> =>
  messages.flatMap((message, index): ReadonlyArray<ModelMessage> => {
    const missing: ModelMessage = { role: "assistant", text: noAnswer, toolCalls: [] }
    if (message.role === "user" && messages[index - 1]?.role === "tool") return [missing, message]
    const isBlank =
      message.role === "assistant" && message.toolCalls.length === 0 && message.text.trim() === ""
    return isBlank ? [missing] : [message]
  })

/** Where the question begins: the last messages of the user that follow each other. */
export const questionStart = (items: ReadonlyArray<StoredItem>): number => {
  const isUser = (item: StoredItem) => item.type === "message" && item.role === "user"
  const last = items.findLastIndex(isUser)
  return items.slice(0, last + 1).findLastIndex((item) => !isUser(item)) + 1
}

/**
 * The messages of items, with `knowledge` in front of the question. They begin with the user, and behind the results of calls
 * comes an answer before the user goes on; for a model without tools, calls and results are told.
 */
export const messagesOf = (
  items: ReadonlyArray<StoredItem>,
  tools: boolean,
  show: ShowFile,
  knowledge: ModelMessage | null = null
): ReadonlyArray<ModelMessage> => {
  const start = questionStart(items)
  const messages = answered([
    ...plainMessages(items.slice(0, start), show),
    ...(knowledge === null ? [] : [knowledge]),
    ...plainMessages(items.slice(start), show)
  ])
  const [first] = messages
  const begun: ReadonlyArray<ModelMessage> =
    first === undefined || first.role === "user"
      ? messages
      : [{ role: "user", text: unknownBeginning }, ...messages]
  return tools ? begun : begun.map(tellCalls)
}

/** The messages of a turn that is over: it ends with an answer. */
export const earlierMessages = (
  items: ReadonlyArray<StoredItem>,
  tools: boolean,
  show: ShowFile
): ReadonlyArray<ModelMessage> => {
  const messages = messagesOf(items, tools, show)
  return messages.at(-1)?.role === "assistant"
    ? messages
    : [...messages, { role: "assistant", text: noAnswer, toolCalls: [] }]
}

/** The estimate for messages, with what a template spends on each. */
export const messagesTokens = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? message.toolCalls : []
    const inCalls = calls.reduce((all, call) => all + estimateMessageTokens(call.name + call.arguments), 0)
    return sum + estimateMessageTokens(message.text) + inCalls
  }, 0)
