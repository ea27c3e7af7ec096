import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { itemEvents } from "../responses/ItemEvents.ts"

/**
 * The events that a log lacks for a response that was stored before its last events were logged, without the
 * terminal one. A reader who has seen the log sees a whole stream with them. Source: wire contract,
 * section 2.
 */
export const missingEvents = (
  logged: ReadonlyArray<EventBody>,
  { output }: ResponseObject
): ReadonlyArray<EventBody> =>
  output.flatMap((item, index) => {
    const own = logged.filter((event) => "output_index" in event && event.output_index === index)
    const types = new Set(own.map(({ type }) => type))
    const sent = own.map((event) => ("delta" in event ? event.delta : "")).join("")
    return itemEvents(item, index)
      .map((event) => ("delta" in event ? { ...event, delta: event.delta.slice(sent.length) } : event))
      .filter((event) => !types.has(event.type) || ("delta" in event && event.delta !== ""))
  })
