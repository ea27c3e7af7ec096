import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import type { OutputItem } from "../domain/Conversation.ts"

/** What the events of a response that hasn't come to its end show of it. */
export interface Progress {
  /** As it began; null where it hasn't. */
  readonly started: ResponseObject | null
  /** The items so far. An open message has the text that was written. */
  readonly output: ReadonlyArray<OutputItem>
}

/** Folds the first events of a response, as the log has them. */
export const progressOf = (events: ReadonlyArray<EventBody>): Progress => {
  let started: ResponseObject | null = null
  const output: Array<OutputItem> = []
  /** The texts of messages, by their place. */
  const texts = new Map<number, string>()
  for (const event of events) {
    if (event.type === "response.created") started = event.response
    else if (event.type === "response.output_item.added") output[event.output_index] = event.item
    else if (event.type === "response.output_item.done") {
      output[event.output_index] = event.item
      texts.delete(event.output_index)
    } else if (event.type === "response.output_text.delta") {
      texts.set(event.output_index, (texts.get(event.output_index) ?? "") + event.delta)
    }
  }
  return { started, output: output.map((item, index) => withText(item, texts.get(index))) }
}

const withText = (item: OutputItem, text: string | undefined): OutputItem =>
  item.type !== "message" || text === undefined
    ? item
    : { ...item, content: [{ type: "output_text", text, annotations: [], logprobs: [] }] }
