import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import type { OutputItem, OutputMessage } from "../domain/Conversation.ts"

/** What of an item the events of a log have told. */
interface Told {
  readonly isAdded: boolean
  /** Whether the text of a message has begun. */
  readonly hasPart: boolean
  /** Whether the text of a message is whole. */
  readonly hasText: boolean
  readonly isDone: boolean
  /** null where the log has no delta. */
  readonly text: string | null
}

const toldOf = (logged: ReadonlyArray<EventBody>, index: number): Told => {
  const own = logged.filter((event) => "output_index" in event && event.output_index === index)
  const deltas = own.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []))
  return {
    isAdded: own.some(({ type }) => type === "response.output_item.added"),
    hasPart: own.some(({ type }) => type === "response.content_part.added"),
    hasText: own.some(({ type }) => type === "response.output_text.done"),
    isDone: own.some(({ type }) => type === "response.output_item.done"),
    text: deltas.length === 0 ? null : deltas.join("")
  }
}

/** The item as it was when it began. */
const begun = (item: OutputItem): OutputItem => {
  switch (item.type) {
    case "message":
      return { ...item, status: "in_progress", content: [] }
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" }
    case "mcp_call":
      return { ...item, status: "in_progress", output: null, error: null }
    case "file_search_call":
      return { ...item, status: "in_progress", results: null }
  }
}

const messageEvents = (item: OutputMessage, index: number, told: Told): ReadonlyArray<EventBody> => {
  const place = { item_id: item.id, output_index: index, content_index: 0 }
  const text = item.content[0]?.text ?? ""
  const rest = text.slice(told.text?.length ?? 0)
  const delta: EventBody = { type: "response.output_text.delta", ...place, delta: rest, logprobs: [] }
  const done: EventBody = { type: "response.output_text.done", ...place, text, logprobs: [] }
  const part: EventBody = {
    type: "response.content_part.added",
    ...place,
    part: { type: "output_text", text: "", annotations: [], logprobs: [] }
  }
  return [
    ...(told.hasPart ? [] : [part]),
    // A message without text has one empty delta.
    ...(rest === "" && told.text !== null ? [] : [delta]),
    ...(told.hasText ? [] : [done])
  ]
}

/**
 * The events that a log lacks for a response that was stored before its last events were logged, without the terminal one: what a
 * reader who has seen the log is to see for the grammar to hold. Source: wire contract, section 2.
 */
export const missingEvents = (
  logged: ReadonlyArray<EventBody>,
  { output }: ResponseObject
): ReadonlyArray<EventBody> =>
  output.flatMap((item, index): ReadonlyArray<EventBody> => {
    const told = toldOf(logged, index)
    if (told.isDone) return []
    const added: EventBody = {
      type: "response.output_item.added",
      output_index: index,
      item: begun(item)
    }
    return [
      ...(told.isAdded ? [] : [added]),
      ...(item.type === "message" ? messageEvents(item, index, told) : []),
      { type: "response.output_item.done", output_index: index, item }
    ]
  })
