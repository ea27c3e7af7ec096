import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { errorOf, eventsOf } from "../support/Wire.ts"
import { someUser } from "./OwnConversations.ts"

layer(TestApp.layerOn(TestDatabase.layerFailing, { conversations: { leaseSeconds: 4 } }), {
  excludeTestServices: true,
  timeout: 300_000
})("a question while the database is away", (it) => {
  it.effect("a question is refused while the database is away, and a begun answer fails and stays", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const model = yield* ScriptedModel
      const faults = yield* SqlFaults
      const { id } = yield* user.create()
      const more = yield* Deferred.make<void>()
      const begun = (yield* model.asked).length
      yield* model.next(
        Stream.concat(Stream.make(text("Hel")), Stream.fromEffectDrain(Deferred.await(more))).pipe(
          Stream.concat(says("lo."))
        ),
        says("Hello.")
      )
      const asking = yield* Effect.forkChild(user.ask(id, { input: "Hello" }))
      yield* until(Effect.map(model.asked, (asked) => asked.length === begun + 1))
      yield* until(Effect.map(user.get(id), ({ running }) => running !== null))
      yield* faults.outage
      assert.strictEqual(errorOf(yield* user.ask(id, { input: "Another" }), 503).code, "database_unavailable")
      yield* Deferred.succeed(more, undefined)
      const events = eventsOf((yield* Fiber.join(asking)).text)
      assert.include(JSON.stringify(events), "Hel")
      assert.strictEqual(events.at(-1)!.type, "error")
      yield* faults.off
      // Its job ends when its lease does; nothing is answered twice.
      yield* until(Effect.map(user.get(id), ({ unanswered }) => unanswered[0]?.input === "Hello"))
      assert.strictEqual((yield* user.get(id)).turn_count, 0)
    })
  )
})

/** More than asking and answering take, so that each of their statements fails in some attempt. */
const statementsMax = 24

layer(
  TestApp.layerOn(TestDatabase.layerFailing, { conversations: { leaseSeconds: 2, turnWaitSeconds: 5 } }),
  {
    excludeTestServices: true,
    timeout: 300_000
  }
)("a question whose statement fails", (it) => {
  for (const when of ["before", "after"] as const) {
    it.effect(`a question is answered or stays, whichever of its statements fails (${when})`, () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const model = yield* ScriptedModel
        const faults = yield* SqlFaults
        let failures = 0
        for (let n = 1; n <= statementsMax; n++) {
          const { id } = yield* user.create({ title: "a" })
          const asked = (yield* model.asked).length
          yield* model.next(says("Hello."))
          yield* faults.failStatement(n, when)
          const reply = yield* user.ask(id, { input: "Hello" })
          yield* faults.off
          if (reply.status === 200) {
            const terminal = eventsOf(reply.text).filter(
              ({ type }) => type === "response.completed" || type === "error"
            )
            assert.lengthOf(terminal, 1, reply.text)
            if (terminal[0]!.type === "error") failures++
          } else {
            failures++
            assert.oneOf(reply.status, [401, 500, 503])
            assert.isString(JSON.parse(reply.text).error.code)
          }
          yield* until(Effect.map(user.get(id), ({ running }) => running === null))
          const { turn_count, turns, unanswered } = yield* user.get(id)
          assert.lengthOf(turns.data, turn_count)
          // An answer is there, or its question is, or it was refused before it was kept.
          if (turn_count > 0) assert.deepStrictEqual(unanswered, [])
          else if (unanswered[0] !== undefined) {
            assert.strictEqual(unanswered[0].input, "Hello")
            assert.isString(unanswered[0].code)
          } else assert.notStrictEqual(reply.status, 200)
          // A call that wasn't made left its words to another one.
          if ((yield* model.asked).length === asked) {
            const other = yield* user.create({ title: "b" })
            assert.strictEqual((yield* user.ask(other.id, { input: "Hello" })).status, 200)
          }
        }
        assert.isAtLeast(failures, 5)
      })
    )
  }
})
