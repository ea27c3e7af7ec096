import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { unless } from "../../src/domain/Alarm.ts"

const makeAlarm = () => {
  const listeners = new Set<() => void>()
  const listen = (raised: () => void) => {
    listeners.add(raised)
    return () => void listeners.delete(raised)
  }
  const raise = () => {
    for (const raised of listeners) raised()
  }
  return { failure: Effect.fail("raised"), listen, listeners, raise }
}

describe("unless", () => {
  it.effect("an effect ends as it does without an alarm, and listens no longer", () =>
    Effect.gen(function* () {
      const alarm = makeAlarm()
      const within = unless(alarm)
      const defect = new Error("a defect")
      assert.strictEqual(yield* within(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(within(Effect.fail("own"))), "own")
      assert.deepStrictEqual(yield* Effect.exit(within(Effect.die(defect))), Exit.die(defect))
      assert.strictEqual(
        yield* within(Effect.delay(Effect.succeed(2), 0)).pipe(Effect.forkChild, Effect.flatMap(Fiber.join)),
        2
      )
      assert.strictEqual(alarm.listeners.size, 0)
    })
  )

  it.effect("an alarm interrupts the effect, and fails when it has ended", () =>
    Effect.gen(function* () {
      const alarm = makeAlarm()
      const ended = yield* Deferred.make<void>()
      const effect = Effect.onInterrupt(Effect.never, () => Deferred.await(ended))
      const fiber = yield* Effect.forkChild(unless(alarm)(effect), { startImmediately: true })
      alarm.raise()
      yield* Effect.yieldNow
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(ended, undefined)
      assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.fail("raised"))
    })
  )

  it.effect("an alarm that was raised before ends the effect", () =>
    Effect.gen(function* () {
      const alarm = {
        failure: Effect.fail("before"),
        listen: (raised: () => void) => {
          raised()
          return () => {}
        }
      }
      assert.strictEqual(yield* Effect.flip(unless(alarm)(Effect.never)), "before")
    })
  )

  it.effect("an effect that is interrupted with its caller listens no longer", () =>
    Effect.gen(function* () {
      const alarm = makeAlarm()
      let isEnded = false
      const effect = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isEnded = true)))
      const fiber = yield* Effect.forkChild(unless(alarm)(effect), { startImmediately: true })
      assert.strictEqual(alarm.listeners.size, 1)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isEnded)
      assert.strictEqual(alarm.listeners.size, 0)
    })
  )
})
