import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import type { OutputItem, OutputText } from "../domain/Conversation.ts"

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
  /** The parts of open messages, by their place. */
  const open = new Map<number, OutputText>()
  for (const event of events) {
    switch (event.type) {
      case "response.created":
        started = event.response
        break
      case "response.output_item.added":
        output[event.output_index] = event.item
        break
      case "response.output_item.done":
        output[event.output_index] = event.item
        open.delete(event.output_index)
        break
      case "response.content_part.added":
        open.set(event.output_index, event.part)
        break
      case "response.output_text.delta":
      case "response.refusal.delta": {
        const part = open.get(event.output_index)
        if (part !== undefined) open.set(event.output_index, { ...part, text: part.text + event.delta })
        break
      }
      default:
    }
  }
  return { started, output: output.map((item, index) => withPart(item, open.get(index))) }
}

const withPart = (item: OutputItem, part: OutputText | undefined): OutputItem =>
  item.type !== "message" || part === undefined || part.text === "" ? item : { ...item, content: [part] }
