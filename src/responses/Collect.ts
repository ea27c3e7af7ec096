import { Effect, Stream } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import type { OutputItem } from "../domain/Item.ts"

interface Collected {
  readonly response: ResponseObject | null
  readonly output: ReadonlyArray<OutputItem>
  readonly text: string
}

const nothing: Collected = { response: null, output: [], text: "" }

/** What one more event makes of the response so far, as any client of the stream would see it. */
const fold = (collected: Collected, event: EventBody): Collected => {
  switch (event.type) {
    case "response.created":
      return { ...collected, response: event.response }
    case "response.output_text.delta":
      return { ...collected, text: collected.text + event.delta }
    case "response.output_item.added":
      return { ...collected, output: [...collected.output, event.item] }
    case "response.output_item.done":
      return { ...collected, output: collected.output.with(event.output_index, event.item) }
    case "response.completed": {
      const { status, completed_at, incomplete_details, usage } = event.response
      const { response, output, text } = collected
      return response === null
        ? collected
        : {
            ...collected,
            response: {
              ...response,
              output,
              output_text: text,
              status,
              completed_at,
              incomplete_details,
              usage
            }
          }
    }
    case "response.content_part.added":
    case "response.output_text.done":
    case "error":
      return collected
  }
}

/** The JSON delivery: the same stream, folded. A stream without its two ends is a defect of ours. */
export const collect = <E, R>(events: Stream.Stream<EventBody, E, R>): Effect.Effect<ResponseObject, E, R> =>
  Stream.runFold(events, () => nothing, fold).pipe(
    Effect.flatMap(({ response }) =>
      response?.status === "completed"
        ? Effect.succeed(response)
        : Effect.die(new Error("The stream of a response ended without its terminal event."))
    )
  )
