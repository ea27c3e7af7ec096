import type { FileId } from "../domain/Ids.ts"
import type { McpCall, StoredItem } from "../domain/Item.ts"
import type { ModelMessage, ToolCall } from "../domain/ModelCall.ts"
import { estimateMessageTokens } from "../domain/Tokens.ts"
import { callIdOf, resultText } from "./ToolRounds.ts"

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

const callOf = ({ arguments: args, id, name }: McpCall): ToolCall => ({
  id: callIdOf(id),
  name,
  arguments: args
})

/** A model without tools can't read a tool call as such, so that it goes without. */
const isHeard = (item: StoredItem, tools: boolean): boolean =>
  item.type === "message" || (tools && item.type === "mcp_call")

/** The messages of a turn's items. A text and the calls behind it are one message of the model's, as it once wrote them. */
export const messagesOf = (
  items: ReadonlyArray<StoredItem>,
  tools: boolean,
  show: ShowFile
): ReadonlyArray<ModelMessage> => {
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

/** The estimate for messages, with what a template spends on each. */
export const messagesTokens = (messages: ReadonlyArray<ModelMessage>): number =>
  messages.reduce((sum, message) => {
    const calls = message.role === "assistant" ? message.toolCalls : []
    const inCalls = calls.reduce((all, call) => all + estimateMessageTokens(call.name + call.arguments), 0)
    return sum + estimateMessageTokens(message.text) + inCalls
  }, 0)
