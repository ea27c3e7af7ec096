import {
  type EventBody,
  makeShownPlaces,
  type ResponseEvent,
  shownEvent
} from "../../src/api/ResponseEvent.ts"

/** The events of a stream as clients of `/v1` see them. */
export const shownEvents = (events: ReadonlyArray<EventBody>): ReadonlyArray<ResponseEvent> => {
  const placed = makeShownPlaces()
  const shown: Array<ResponseEvent> = []
  for (const event of events) {
    const one = shownEvent(placed(event), shown.length)
    if (one !== null && one.type !== "response.reasoning_text.delta") shown.push(one)
  }
  return shown
}
