import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { joinBy, makeDeadlines } from "../../src/domain/Deadlines.ts"

describe("deadlines", () => {
  it.effect("are kept at most a quarter of a second late, never early, and once", () =>
    Effect.gen(function* () {
      const begin = yield* makeDeadlines(10_000)
      const overran: Array<string> = []
      begin(() => overran.push("first"))
      yield* TestClock.adjust("5 seconds")
      const end = begin(() => overran.push("ended"))
      begin(() => overran.push("second"))
      end()
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(overran, [])
      yield* TestClock.adjust("251 millis")
      assert.deepStrictEqual(overran, ["first"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(overran, ["first", "second"])
    })
  )

  it.effect("that are short are kept more exactly", () =>
    Effect.gen(function* () {
      const begin = yield* makeDeadlines(200)
      let isOver = false
      begin(() => (isOver = true))
      yield* TestClock.adjust("199 millis")
      assert.isFalse(isOver)
      yield* TestClock.adjust("11 millis")
      assert.isTrue(isOver)
    })
  )

  it.effect("are kept again after a time in which nothing was waited for", () =>
    Effect.gen(function* () {
      const begin = yield* makeDeadlines(1_000)
      const overran: Array<string> = []
      const end = begin(() => overran.push("ended"))
      end()
      end()
      yield* TestClock.adjust("1 hour")
      begin(() => overran.push("first"))
      begin(() => overran.push("second"))()
      yield* TestClock.adjust("1250 millis")
      assert.deepStrictEqual(overran, ["first"])
    })
  )

  it.effect("bound the wait for a fiber, which goes on", () =>
    Effect.gen(function* () {
      const begin = yield* makeDeadlines(1_000)
      const answer = yield* Deferred.make<string>()
      const slow = yield* Effect.forkChild(Deferred.await(answer))
      const waiting = yield* Effect.forkChild(joinBy(slow, begin), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(waiting), Option.none())
      const again = yield* Effect.forkChild(joinBy(slow, begin), { startImmediately: true })
      yield* Deferred.succeed(answer, "late")
      assert.deepStrictEqual(yield* Fiber.join(again), Option.some("late"))
      // One that has ended is not waited for.
      assert.deepStrictEqual(yield* joinBy(slow, begin), Option.some("late"))
      const failing = yield* Effect.forkChild(Effect.fail("broken"))
      assert.deepStrictEqual(yield* Effect.exit(joinBy(failing, begin)), Exit.fail("broken"))
      yield* Effect.forkChild(joinBy(yield* Effect.forkChild(Effect.never), begin)).pipe(
        Effect.flatMap(Fiber.interrupt)
      )
      yield* TestClock.adjust("1 minute")
    })
  )
})
