import type { EventBody } from "../../api/ResponseEvent.ts"
import type { OutputItem, OutputMessage, OutputText, ReasoningItem } from "../../domain/Conversation.ts"
import type { ItemId } from "../../domain/Ids.ts"
import type { Reasoning } from "../../domain/ModelCall.ts"
import { storable } from "../../domain/storable.ts"

/** The events of single items. Source: wire contract, section 2. */

const none: ReadonlyArray<never> = []

/** The part of a message, with the citations and logprobs of its text. */
export const textPart = (
  text: string,
  annotations: OutputText["annotations"],
  isRefusal: boolean,
  logprobs: OutputText["logprobs"] = none
): OutputText => ({
  type: "output_text",
  text,
  annotations,
  logprobs,
  ...(isRefusal ? { isRefusal } : {})
})

/** The events that begin a message. */
export const openMessage = (id: ItemId, index: number, isRefusal: boolean): ReadonlyArray<EventBody> => [
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
    part: textPart("", none, isRefusal)
  }
]

export const textDelta = (
  id: ItemId,
  index: number,
  text: string,
  logprobs: OutputText["logprobs"] = none
): EventBody => ({
  type: "response.output_text.delta",
  item_id: id,
  output_index: index,
  content_index: 0,
  delta: text,
  logprobs
})

export const refusalDelta = (id: ItemId, index: number, text: string): EventBody => ({
  type: "response.refusal.delta",
  item_id: id,
  output_index: index,
  content_index: 0,
  delta: text
})

/** All events of a message, with its text in one delta. */
const messageEvents = (item: OutputMessage, index: number): ReadonlyArray<EventBody> => {
  const [{ isRefusal = false, text } = { text: "" }] = item.content
  const delta = isRefusal ? refusalDelta : textDelta
  return [...openMessage(item.id, index, isRefusal), delta(item.id, index, text), textDone(item, index)]
}

/** The item of the reasoning. */
export const reasoningItem = (id: ItemId, { opaque, text }: Reasoning): ReasoningItem => ({
  id,
  type: "reasoning",
  status: "completed",
  text: storable(text),
  opaque: opaque && { ...opaque, data: storable(opaque.data) }
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

/** A piece of the arguments of a call that the client runs. */
export const argumentsDelta = (id: ItemId, index: number, text: string): EventBody => ({
  type: "response.function_call_arguments.delta",
  item_id: id,
  output_index: index,
  delta: text
})

/** The events between the first and the last event of an item that came at once. */
const wholeDelta = (item: OutputItem, index: number): ReadonlyArray<EventBody> => {
  if (item.type === "reasoning" && item.text !== "") return [reasoningDelta(item.id, index, item.text)]
  return item.type === "function_call" && item.arguments !== ""
    ? [argumentsDelta(item.id, index, item.arguments)]
    : none
}

/** All events of an item that is done, with its text in one delta. */
export const itemEvents = (item: OutputItem, index: number): ReadonlyArray<EventBody> => [
  ...(item.type === "message"
    ? messageEvents(item, index)
    : [{ type: "response.output_item.added", output_index: index, item: begunItem(item) } as const]),
  ...wholeDelta(item, index),
  { type: "response.output_item.done", output_index: index, item }
]
