import { assert, layer } from "@effect/vitest"
import { Effect, Option, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { ConversationId } from "../../src/domain/Ids.ts"
import { failure, finish, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { untilValue } from "../support/until.ts"
import { call, errorOf, eventsOf, type Reply, responseOf } from "../support/Wire.ts"

/** A request sends no more statements than this, its bookkeeping included. */
const statementsMax = 12

const post = Effect.fnUntraced(function* (body: object) {
  const app = yield* TestApp
  return yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi", ...body } })
})

const Turn = Schema.Struct({ position: Schema.Int, inputs: Schema.Int, outputs: Schema.Int })

/** The turns of a conversation as the tables have them, by a client without faults. */
const turnsOf = Effect.fnUntraced(function* (conversationId: ConversationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    SELECT t.position,
      count(*) FILTER (WHERE i.side = 'input')::int AS inputs,
      count(*) FILTER (WHERE i.side = 'output')::int AS outputs
    FROM turns t JOIN items i ON i.response_id = t.response_id
    WHERE t.conversation_id = ${conversationId} GROUP BY t.position ORDER BY t.position`
  return yield* Schema.decodeUnknownEffect(Schema.Array(Turn))(rows)
})

/** The outcome that a client sees. Checks that the reply is one envelope or one well-formed stream. */
const outcomeOf = (reply: Reply): "answered" | "refused" | "broken" => {
  if (reply.status !== 200) {
    assert.include(["database_unavailable", "generation_failed"], errorOf(reply, reply.status).code)
    return "refused"
  }
  if (reply.headers.get("content-type") === "application/json") {
    responseOf(reply)
    return "answered"
  }
  const { last } = assertGrammar(eventsOf(reply.text))
  return last.type === "error" ? "broken" : "answered"
}

const usageOutcomes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT outcome, output_tokens FROM usage_records ORDER BY created_at`
  const Row = Schema.Struct({ outcome: Schema.String, outputTokens: Schema.Int })
  return yield* Schema.decodeUnknownEffect(Schema.Array(Row))(rows)
})

const leases = { conversations: { leaseSeconds: 1, turnWaitSeconds: 10 } }

layer(TestApp.layerOn(TestDatabase.layerFailing, leases), { excludeTestServices: true })(
  "when the n-th SQL statement fails",
  (it) => {
    const cases = (["before", "after"] as const).flatMap((when) =>
      [true, false].flatMap((stream) =>
        Array.from({ length: statementsMax }, (_, index) => ({ n: index + 1, when, stream }))
      )
    )
    it.effect(
      "one envelope or one stream comes out, and the turn is whole or absent",
      () =>
        Effect.gen(function* () {
          const faults = yield* SqlFaults
          const model = yield* ScriptedModel
          let struck = 0
          for (const { n, when, stream } of cases) {
            const name = `statement ${n}, ${when}, stream ${stream}`
            yield* model.next(says("zero"))
            const first = responseOf(yield* post({ stream: false }))
            const { conversation_id } = first
            const before = (yield* model.asked).length
            yield* model.next(says("o", "ne"))
            yield* faults.failStatement(n, when)
            const outcome = outcomeOf(yield* post({ conversation_id, stream }))
            const { failed } = yield* faults.seen
            yield* faults.off
            if (failed) struck++
            // A request that failed early leaves its line of the script to be said by the next one.
            if ((yield* model.asked).length === before) yield* post({ stream: false })
            const turns = yield* turnsOf(conversation_id)
            assert.deepStrictEqual(
              turns,
              Array.from({ length: turns.length }, (_, position) => ({ position, inputs: 1, outputs: 1 })),
              name
            )
            if (outcome === "answered") assert.strictEqual(turns.length, 2, name)
            else assert.include([1, 2], turns.length, name)
            yield* model.next(says("two"))
            const next = responseOf(yield* post({ conversation_id, stream: false }))
            assert.strictEqual(next.output_text, "two", `${name}: the conversation goes on`)
            assert.strictEqual((yield* turnsOf(conversation_id)).length, turns.length + 1, name)
          }
          assert.isAbove(struck, 8, "the faults hit statements of every step")
        }),
      120_000
    )

    it.effect(
      "usage is recorded",
      () =>
        Effect.gen(function* () {
          const faults = yield* SqlFaults
          const model = yield* ScriptedModel
          for (let n = 1; n <= statementsMax; n++) {
            const before = (yield* model.asked).length
            const rows = (yield* usageOutcomes).length
            yield* model.next(says("spent"))
            yield* faults.failStatement(n, "before")
            yield* post({ stream: false })
            const wasAsked = (yield* model.asked).length > before
            if (!wasAsked) {
              yield* faults.off
              yield* post({ stream: false })
            }
            yield* untilValue(
              Effect.option(usageOutcomes),
              (found) => Option.isSome(found) && found.value.length > rows
            )
            yield* faults.off
          }
        }),
      120_000
    )
  }
)

layer(TestApp.layer(), { excludeTestServices: true })("when the n-th part of a model fails", (it) => {
  const parts = [text("a"), text("b"), finish()]
  it.effect.each([true, false].flatMap((stream) => [0, 1, 2, 3].map((n) => ({ n, stream }))))(
    "one envelope or one error event comes out, no turn, and the cost: %o",
    ({ n, stream }) =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const rows = (yield* usageOutcomes).length
        yield* model.next(says("zero"))
        const { conversation_id } = responseOf(yield* post({ stream: false }))
        const broken = Stream.concat(Stream.fromIterable(parts.slice(0, n)), Stream.fail(failure("cut")))
        // Before its first output a second model is asked, and fails in the same way.
        yield* model.next(...(n === 0 ? [broken, broken] : [broken]))
        const outcome = outcomeOf(yield* post({ conversation_id, stream }))
        const isWhole = n === parts.length
        const expected = isWhole ? "answered" : stream && n > 0 ? "broken" : "refused"
        assert.strictEqual(outcome, expected)
        assert.strictEqual((yield* turnsOf(conversation_id)).length, isWhole ? 2 : 1)
        const recorded = yield* untilValue(usageOutcomes, ({ length }) => length === rows + 2)
        const { outcome: how, outputTokens } = recorded.at(-1)!
        assert.strictEqual(how, isWhole ? "completed" : "failed")
        assert.strictEqual(outputTokens, isWhole ? scriptedUsage.outputTokens : n === 0 ? 0 : 1)
      })
  )
})
