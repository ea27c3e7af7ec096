import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { makeAlarm, noAlarm, raised, unless } from "../../src/domain/Alarm.ts"

describe("an alarm", () => {
  it("calls each listener once, with the first error, and none that was called off", () => {
    const alarm = makeAlarm<string>()
    const calls: Array<string> = []
    const listen = (name: string) => alarm.listen(() => calls.push(name))
    listen("a")
    const callOff = listen("b")
    listen("c")
    callOff()
    alarm.raise("first")
    alarm.raise("second")
    assert.deepStrictEqual(calls, ["a", "c"])
    assert.deepStrictEqual(Effect.runSyncExit(alarm.failure), Exit.fail("first"))
    listen("late")
    assert.deepStrictEqual(calls, ["a", "c", "late"])
  })

  it.effect("fails whoever waits for it", () =>
    Effect.gen(function* () {
      const alarm = makeAlarm<string>()
      const waiting = yield* Effect.forkChild(alarm.failure, { startImmediately: true })
      const gone = yield* Effect.forkChild(alarm.failure, { startImmediately: true })
      yield* Fiber.interrupt(gone)
      alarm.raise("error")
      assert.deepStrictEqual(yield* Fiber.await(waiting), Exit.fail("error"))
    })
  )
})

describe("an effect that runs unless an alarm is raised", () => {
  it.effect("ends as it does without one", () =>
    Effect.gen(function* () {
      const within = unless(makeAlarm<"alarm">(), noAlarm)
      const defect = new Error("a defect")
      assert.strictEqual(yield* within(Effect.succeed(1)), 1)
      assert.strictEqual(yield* Effect.flip(within(Effect.fail("own"))), "own")
      assert.deepStrictEqual(yield* Effect.exit(within(Effect.die(defect))), Exit.die(defect))
      assert.strictEqual(
        yield* within(Effect.delay(Effect.succeed(2), 0)).pipe(Effect.forkChild, Effect.flatMap(Fiber.join)),
        2
      )
    })
  )

  it.effect.each(["first", "second"] as const)(
    "is interrupted, and fails afterwards: by the %s of two",
    (which) =>
      Effect.gen(function* () {
        const alarms = { first: makeAlarm<"first">(), second: makeAlarm<"second">() }
        const ended = yield* Deferred.make<void>()
        const effect = Effect.onInterrupt(Effect.never, () => Deferred.await(ended))
        const fiber = yield* Effect.forkChild(unless(alarms.first, alarms.second)(effect), {
          startImmediately: true
        })
        alarms[which].raise(which as never)
        yield* Effect.yieldNow
        assert.isUndefined(fiber.pollUnsafe())
        yield* Deferred.succeed(ended, undefined)
        assert.deepStrictEqual(yield* Fiber.await(fiber), Exit.fail(which))
      })
  )

  it.effect("is ended by one that was raised before", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(unless(raised("before"))(Effect.never)), "before")
    })
  )

  it.effect("is interrupted with its caller, which no longer listens", () =>
    Effect.gen(function* () {
      const listeners = new Set<() => void>()
      const alarm = {
        failure: Effect.never,
        listen: (raised: () => void) => {
          listeners.add(raised)
          return () => void listeners.delete(raised)
        }
      }
      let isEnded = false
      const effect = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isEnded = true)))
      const fiber = yield* Effect.forkChild(unless(alarm)(effect), { startImmediately: true })
      assert.strictEqual(listeners.size, 1)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(isEnded)
      assert.strictEqual(listeners.size, 0)
      yield* unless(alarm)(Effect.void)
      assert.strictEqual(listeners.size, 0)
    })
  )
})
