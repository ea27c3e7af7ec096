import type { ProfileEventBody } from "../api/openai/ResponseEvents.ts"
import type { ResponseResource } from "../api/openai/ResponseResource.ts"
import { namedFrame, type Writing } from "../http/Sse.ts"
import type { View } from "./ItemRendering.ts"
import { makeRenderer } from "./Rendering.ts"

const lastFrame = "data: [DONE]\n\n"

/** Writes the events of one response, each under its own name, numbered from 0. `queued` is one in the background as it waited. */
export const makeWriting = (view: View, queued: ResponseResource | null = null): Writing => {
  const renderer = makeRenderer(view, queued)
  let sequenceNumber = 0
  const frames = (events: ReadonlyArray<ProfileEventBody>) => {
    let text = ""
    for (const event of events) {
      const numbered = Object.assign({ type: event.type, sequence_number: sequenceNumber++ }, event)
      text += namedFrame(event.type, numbered)
    }
    return text
  }
  return {
    start: frames(renderer.start),
    event: (event) => frames(renderer.event(event)),
    failure: (body) => frames(renderer.failure(body)),
    end: lastFrame
  }
}
