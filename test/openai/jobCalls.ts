import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
export const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

export const responsesAt = (address: string): string => `${address}/openai/v1/responses`

export const decodeResponse = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseResource))

/** Begins a response in the background, and gives its id. */
export const begin = Effect.fnUntraced(function* (address: string, userKey = key) {
  const reply = yield* call(responsesAt(address), { key: userKey, body: { input: "Hi", background: true } })
  assert.strictEqual(reply.status, 200, reply.text)
  return decodeResponse(reply.text).id
})

export const show = (address: string, id: string, userKey = key) =>
  Effect.map(call(`${responsesAt(address)}/${id}`, { key: userKey }), ({ text }) => decodeResponse(text))

const isOver = ({ status }: ResponseResource) => status !== "queued" && status !== "in_progress"

export const ended = (address: string, id: string) => untilValue(show(address, id), isOver)

/** The events of a response's log after an event, as any process serves them. */
export const eventsAfter = (address: string, id: string, number: number | null) =>
  Effect.map(
    call(`${responsesAt(address)}/${id}?stream=true${number === null ? "" : `&starting_after=${number}`}`, {
      key
    }),
    ({ text }) => framesIn(text)
  )
