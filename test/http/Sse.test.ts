import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Effect } from "effect"
import { errorEvent, type EventBody, shownEvent, ResponseEvent } from "../../src/api/ResponseEvent.ts"
import { startedResponse } from "../../src/api/ResponseObject.ts"
import { ConversationId, ItemId, ResponseId } from "../../src/domain/Ids.ts"
import { frame } from "../../src/http/Sse.ts"

const Units = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })))
const Text = Schema.Union([Schema.String, Units])
const textOf = (value: string | ReadonlyArray<number>) =>
  (typeof value === "string" ? value : String.fromCharCode(...value)).toWellFormed()

const delta = (text: string): EventBody => ({
  type: "response.output_text.delta",
  item_id: ItemId.make("019845e1-682f-4b02-a706-3b2422d13aec"),
  output_index: 3,
  content_index: 0,
  delta: text,
  logprobs: []
})

const unescaped = (_whole: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))

/** Reads one frame back, having checked its bytes. */
const dataOf = (text: string): string => {
  const match = /^event: message\ndata: ([^\n\r]*)\n\n$/.exec(text)
  assert.isNotNull(match, "a frame is an event line, a data line and a blank line")
  return match![1]!
}

describe("Sse.frame", () => {
  it("Sse.frame puts the sequence number after the type in every kind of event", () => {
    const error = errorEvent({ type: "server_error", code: "generation_failed", message: "m", param: "" })
    for (const event of [delta("a"), error]) {
      const data: unknown = JSON.parse(dataOf(frame(event, 7)))
      assert.deepStrictEqual(Object.keys(data ?? {}).slice(0, 2), ["type", "sequence_number"])
    }
  })

  it.effect.prop(
    "Sse.frame survives any text, and the template of a delta equals the schema's encoding",
    [Text, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))],
    ([value, sequenceNumber]) =>
      Effect.gen(function* () {
        const event = delta(textOf(value))
        const data = dataOf(frame(event, sequenceNumber))
        const encoded = yield* Schema.encodeUnknownEffect(ResponseEvent)(shownEvent(event, sequenceNumber))
        assert.deepStrictEqual(JSON.parse(data), encoded)
        assert.notMatch(data, /[\u0085\u2028\u2029\r\n]/)
      })
  )

  it.effect.prop(
    "Sse.frame writes the beginning of every response as the schema encodes it",
    [Text, Schema.Boolean, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))],
    ([value, flag, number]) =>
      Effect.gen(function* () {
        const text = textOf(value)
        const id = "019845e1-682f-4b02-a706-3b2422d13aec"
        const created = startedResponse({
          id: ResponseId.make(id),
          createdAt: number,
          model: text,
          conversationId: ConversationId.make(id),
          instructions: flag ? text : null,
          maxOutputTokens: flag ? number : null,
          previousResponseId: flag ? ResponseId.make(id) : null,
          store: flag
        })
        const events: ReadonlyArray<EventBody> = [
          { type: "response.created", response: created },
          {
            type: "response.content_part.added",
            item_id: ItemId.make(id),
            output_index: number,
            content_index: number,
            part: { type: "output_text", text: "", annotations: [], logprobs: [] }
          }
        ]
        for (const event of events) {
          const data = dataOf(frame(event, number))
          assert.notMatch(data, /[\u0085\u2028\u2029\r\n]/)
          const encoded = yield* Schema.encodeUnknownEffect(ResponseEvent)(shownEvent(event, number))
          assert.deepStrictEqual(JSON.parse(data), encoded)
          assert.strictEqual(
            data.replace(/\\u(0085|2028|2029)/g, unescaped),
            JSON.stringify(shownEvent(event, number))
          )
        }
      })
  )

  it.effect.prop("Sse.frame survives any text in every other kind of event", [Text], ([value]) =>
    Effect.gen(function* () {
      const text = textOf(value)
      const events: ReadonlyArray<EventBody> = [
        errorEvent({ type: "server_error", code: "generation_failed", message: text, param: "" }),
        {
          type: "response.output_text.done",
          item_id: ItemId.make("019845e1-682f-4b02-a706-3b2422d13aec"),
          output_index: 0,
          content_index: 0,
          text,
          logprobs: []
        }
      ]
      for (const event of events) {
        const data = dataOf(frame(event, 7))
        assert.deepStrictEqual(
          JSON.parse(data),
          yield* Schema.encodeUnknownEffect(ResponseEvent)(shownEvent(event, 7))
        )
        assert.notMatch(data, /[\u0085\u2028\u2029\r\n]/)
      }
    })
  )
})
