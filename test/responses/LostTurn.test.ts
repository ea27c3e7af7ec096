import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ScriptedModel, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, eventsOf } from "../support/Wire.ts"

/** Short, so that a lost lease is found out soon. */
const settings = { conversations: { leaseSeconds: 1.5 } }

const endless = Stream.concat(Stream.make(text("begun")), Stream.never)

/** Asks, takes the conversation away while the model writes, and tells what came of it. */
const askAndLose = Effect.fnUntraced(function* (stream: boolean) {
  const app = yield* TestApp
  const model = yield* ScriptedModel
  const sql = yield* SqlClient.SqlClient
  const before = { asked: (yield* model.asked).length, ended: yield* model.ended }
  // The row of the new conversation may come after the model's first words.
  yield* sql`UPDATE conversations SET lease_until = NULL`
  yield* model.next(endless)
  const asking = yield* Effect.forkChild(
    call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi", stream } })
  )
  yield* until(Effect.map(model.asked, (asked) => asked.length > before.asked))
  yield* until(
    Effect.map(
      sql`UPDATE conversations SET lease_fence = lease_fence + 1
        WHERE id = (SELECT max(id::text)::uuid FROM conversations) AND lease_until IS NOT NULL RETURNING id`,
      (taken) => taken.length === 1
    )
  )
  const reply = yield* Fiber.join(asking)
  yield* until(Effect.map(model.ended, (ended) => ended > before.ended))
  return reply
})

layer(TestApp.layer(settings), { excludeTestServices: true })("a conversation that was taken over", (it) => {
  it.effect("a stream and its call of a model end when its conversation was taken over", () =>
    Effect.gen(function* () {
      const events = eventsOf((yield* askAndLose(true)).text)
      assertGrammar(events)
      const last = events.at(-1)
      assert.strictEqual(last?.type === "error" ? last.error.code : last?.type, "generation_failed")
    })
  )

  it.effect("a JSON answer ends with an error when its conversation was taken over", () =>
    Effect.gen(function* () {
      assert.strictEqual(errorOf(yield* askAndLose(false), 500).code, "generation_failed")
    })
  )
})
