import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { makeStatementDeadlines } from "../../src/sql/StatementDeadlines.ts"

/** Ended by the first sweep that finds it. */
const atOnceMillis = 0
const neverMillis = 60_000

const late = () => "late"

describe("the deadline of statements", () => {
  it.effect("ends one that overruns, which is interrupted before its caller learns of it", () =>
    Effect.gen(function* () {
      const within = yield* makeStatementDeadlines(atOnceMillis)
      let isEnded = false
      const statement = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isEnded = true)))
      assert.strictEqual(yield* Effect.flip(within(late)(statement)), "late")
      assert.isTrue(isEnded)
    })
  )

  it.effect("ends each of several by itself, and leaves those in time alone", () =>
    Effect.gen(function* () {
      const within = yield* makeStatementDeadlines(neverMillis)
      const short = yield* makeStatementDeadlines(atOnceMillis)
      const answer = yield* Deferred.make<number>()
      const waiting = yield* Effect.forkChild(within(late)(Deferred.await(answer)))
      const exits = yield* Effect.all(
        [1, 2, 3].map(() => Effect.exit(short(late)(Effect.never))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        exits,
        exits.map(() => Exit.fail("late"))
      )
      yield* Deferred.succeed(answer, 7)
      assert.strictEqual(yield* Fiber.join(waiting), 7)
    })
  )

  it.effect("hands on what a statement answers, its failure and its defect", () =>
    Effect.gen(function* () {
      const inTime = (yield* makeStatementDeadlines(neverMillis))(late)
      assert.strictEqual(yield* inTime(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(inTime(Effect.fail("broken"))), "broken")
      const defect = new Error("a defect")
      assert.deepStrictEqual(yield* Effect.exit(inTime(Effect.die(defect))), Exit.die(defect))
    })
  )

  it.effect("interrupts the statement of a caller that is interrupted", () =>
    Effect.gen(function* () {
      const inTime = (yield* makeStatementDeadlines(neverMillis))(late)
      const begun = yield* Deferred.make<void>()
      let isEnded = false
      const statement = Deferred.succeed(begun, undefined).pipe(
        Effect.andThen(Effect.never),
        Effect.onInterrupt(() => Effect.sync(() => (isEnded = true)))
      )
      const caller = yield* Effect.forkChild(inTime(statement))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(caller)
      assert.isTrue(isEnded)
    })
  )

  it.effect("lets a statement see the services of its caller", () =>
    Effect.gen(function* () {
      const inTime = (yield* makeStatementDeadlines(neverMillis))(late)
      const span = yield* Effect.withSpan(inTime(Effect.currentSpan), "the caller's")
      assert.strictEqual(span.name, "the caller's")
    })
  )
})
