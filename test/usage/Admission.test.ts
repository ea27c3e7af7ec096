import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { UsageLimitExceeded } from "../../src/domain/Errors.ts"
import { UserId } from "../../src/domain/Ids.ts"
import { makeAdmission, makeUsualOutput } from "../../src/usage/Admission.ts"
import type { TokenRequest } from "../../src/usage/TokenCounters.ts"
import { newResponse } from "./asking.ts"

const waitSeconds = 5

const askOf = (userId: UserId): TokenRequest => ({
  responseId: newResponse(),
  part: 0,
  userId,
  limitedKey: null,
  most: 1,
  usual: 1,
  least: 1
})

/** Places that are given out one by one, however often somebody asks. */
const setUp = (used = 0) => {
  const state = { places: 0, asks: 0, granted: [] as Array<string> }
  const admit = makeAdmission(
    (ask) =>
      Effect.suspend(() => {
        state.asks++
        if (state.places === 0) {
          const resetsAt = DateTime.makeUnsafe(0)
          const numbers = { used, held: 10 - used, limit: 10, resetsAt, retryAfterSeconds: 2 }
          return Effect.fail(new UsageLimitExceeded({ owner: "user", window: "daily", ...numbers }))
        }
        state.places--
        state.granted.push(ask.responseId)
        return Effect.succeed({ tokens: 1, left: 0 })
      }),
    waitSeconds
  )
  return { state, admit }
}

const alice = UserId.make(randomUUID())
const bob = UserId.make(randomUUID())

describe("makeAdmission", () => {
  it.effect("requests of a user are admitted in their order as tokens come back", () =>
    Effect.gen(function* () {
      const { admit, state } = setUp()
      const asks = Array.from({ length: 4 }, () => askOf(alice))
      const fibers = yield* Effect.forEach(asks, (ask) =>
        Effect.forkChild(admit(ask), { startImmediately: true })
      )
      for (const [index] of asks.entries()) {
        state.places = 1
        yield* TestClock.adjust("200 millis")
        assert.deepStrictEqual(
          state.granted,
          asks.slice(0, index + 1).map(({ responseId }) => responseId)
        )
      }
      yield* Fiber.joinAll(fibers)
    })
  )

  it.effect("a request that comes while others wait gets in line behind them", () =>
    Effect.gen(function* () {
      const { admit, state } = setUp()
      const [first, second] = [askOf(alice), askOf(alice)]
      const waiting = yield* Effect.forkChild(admit(first), { startImmediately: true })
      state.places = 1
      const late = yield* Effect.forkChild(admit(second), { startImmediately: true })
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual(state.granted, [first.responseId])
      yield* Fiber.join(waiting)
      yield* Fiber.interrupt(late)
    })
  )

  it.effect("another user's requests don't wait for them", () =>
    Effect.gen(function* () {
      const { admit, state } = setUp()
      const waiting = yield* Effect.forkChild(admit(askOf(alice)), { startImmediately: true })
      state.places = 1
      assert.deepStrictEqual(yield* admit(askOf(bob)), { tokens: 1, left: 0 })
      yield* Fiber.interrupt(waiting)
    })
  )

  it.effect("a request is refused when its wait is over, whether it was first in line or not", () =>
    Effect.gen(function* () {
      const { admit } = setUp()
      const refused = yield* Deferred.make<void>()
      const fibers = yield* Effect.forEach([askOf(alice), askOf(alice)], (ask) =>
        Effect.forkChild(
          Effect.tapError(admit(ask), () => Deferred.succeed(refused, undefined)),
          { startImmediately: true }
        )
      )
      yield* TestClock.adjust("4900 millis")
      assert.isFalse(yield* Deferred.isDone(refused))
      yield* TestClock.adjust("100 millis")
      for (const fiber of fibers) assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
    })
  )

  it.effect("a request whose client leaves frees its place", () =>
    Effect.gen(function* () {
      const { admit, state } = setUp()
      const [first, second] = [askOf(alice), askOf(alice)]
      const leaving = yield* Effect.forkChild(admit(first), { startImmediately: true })
      const staying = yield* Effect.forkChild(admit(second), { startImmediately: true })
      yield* Fiber.interrupt(leaving)
      state.places = 1
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(staying)
      assert.deepStrictEqual(state.granted, [second.responseId])
    })
  )

  it.effect("a limit that is spent is refused at once", () =>
    Effect.gen(function* () {
      const { admit, state } = setUp(10)
      assert.strictEqual((yield* Effect.flip(admit(askOf(alice))))._tag, "UsageLimitExceeded")
      assert.strictEqual(state.asks, 1)
    })
  )
})

describe("makeUsualOutput", () => {
  it("makeUsualOutput returns the length that three of four recent answers do not exceed", () => {
    const usual = makeUsualOutput()
    const [alice, bob] = [UserId.make(randomUUID()), UserId.make(randomUUID())]
    for (const tokens of [3_000, 500, 700, 600]) usual.note(alice, tokens)
    assert.strictEqual(usual.of(alice), 700)
    assert.strictEqual(usual.of(bob), 1_024)
  })

  it("makeUsualOutput follows the newest answers, within bounds", () => {
    const usual = makeUsualOutput()
    const alice = UserId.make(randomUUID())
    for (let n = 0; n < 50; n++) usual.note(alice, 50_000)
    assert.strictEqual(usual.of(alice), 4_096)
    for (let n = 0; n < 16; n++) usual.note(alice, 3)
    assert.strictEqual(usual.of(alice), 256)
  })
})
