import type { EventBody } from "../api/ResponseEvent.ts"
import type { OutputItem, OutputMessage } from "../domain/Conversation.ts"
import type { ItemId } from "../domain/Ids.ts"

/** The events of single items. Source: wire contract, section 2. */

const none: ReadonlyArray<never> = []

/** The events that begin a message. */
export const openMessage = (id: ItemId, index: number): ReadonlyArray<EventBody> => [
  {
    type: "response.output_item.added",
    output_index: index,
    item: { id, type: "message", status: "in_progress", role: "assistant", content: none }
  },
  {
    type: "response.content_part.added",
    item_id: id,
    output_index: index,
    content_index: 0,
    part: { type: "output_text", text: "", annotations: none, logprobs: none }
  }
]

export const textDelta = (id: ItemId, index: number, text: string): EventBody => ({
  type: "response.output_text.delta",
  item_id: id,
  output_index: index,
  content_index: 0,
  delta: text,
  logprobs: none
})

/** The item as its first event shows it. */
export const begunItem = (item: Exclude<OutputItem, OutputMessage>): OutputItem => {
  switch (item.type) {
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" }
    case "mcp_call":
      return { ...item, status: "in_progress", output: null, error: null }
    case "reasoning":
      return { ...item, status: "in_progress", text: "", opaque: null }
    case "file_search_call":
      return { ...item, status: "in_progress", results: null }
  }
}

export const textDone = ({ content, id }: OutputMessage, index: number): EventBody => ({
  type: "response.output_text.done",
  item_id: id,
  output_index: index,
  content_index: 0,
  text: content[0]?.text ?? "",
  logprobs: none
})

export const reasoningDelta = (id: ItemId, index: number, text: string): EventBody => ({
  type: "response.reasoning_text.delta",
  item_id: id,
  output_index: index,
  content_index: 0,
  delta: text
})

/** All events of an item that is done, with its text in one delta. */
export const itemEvents = (item: OutputItem, index: number): ReadonlyArray<EventBody> => [
  ...(item.type === "message"
    ? [
        ...openMessage(item.id, index),
        textDelta(item.id, index, item.content[0]?.text ?? ""),
        textDone(item, index)
      ]
    : [{ type: "response.output_item.added", output_index: index, item: begunItem(item) } as const]),
  ...(item.type === "reasoning" && item.text !== "" ? [reasoningDelta(item.id, index, item.text)] : []),
  { type: "response.output_item.done", output_index: index, item }
]
