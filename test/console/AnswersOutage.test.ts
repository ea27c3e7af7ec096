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
  timeout: 60_000
})("a question while the database is away", (it) => {
  it.effect("is refused, and one whose answer has begun fails and stays", () =>
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
      yield* until(Effect.map(user.get(id), ({ unanswered }) => unanswered?.input === "Hello"))
      assert.strictEqual((yield* user.get(id)).turn_count, 0)
    })
  )
})
