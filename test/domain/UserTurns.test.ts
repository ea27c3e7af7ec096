import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { makeUserTurns } from "../../src/domain/UserTurns.ts"
import { until } from "../support/until.ts"

describe("Tasks on behalf of users", () => {
  it.live("run at once up to the bound of a user, and leave other users alone", () =>
    Effect.gen(function* () {
      const inTurn = makeUserTurns({ atOnceMax: Number.POSITIVE_INFINITY, perUserMax: 2 })
      const begun: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const task = (user: string, name: string) =>
        Effect.forkChild(
          inTurn(user)(
            Effect.andThen(
              Effect.sync(() => begun.push(name)),
              Deferred.await(gate)
            )
          ),
          { startImmediately: true }
        )
      const first = yield* task("alice", "alice 1")
      yield* task("alice", "alice 2")
      const third = yield* task("alice", "alice 3")
      yield* task("alice", "alice 4")
      yield* task("bob", "bob 1")
      assert.deepStrictEqual(begun, ["alice 1", "alice 2", "bob 1"])
      // One that is given up while it waits has no turn, and one that is given up while it runs makes way.
      yield* Fiber.interrupt(third)
      yield* Fiber.interrupt(first)
      yield* until(Effect.sync(() => begun.length === 4))
      assert.strictEqual(begun.at(-1), "alice 4")
      yield* Deferred.succeed(gate, undefined)
    })
  )
})
