import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"

const firstPauseMillis = 5
/** Looking again and again costs more than what is waited for. */
const lastPauseMillis = 100

/** Waits in real time, also if a TestClock stands still. */
const pause = (millis: number) => Effect.promise(() => setTimeout(millis))

/**
 * Runs the effect again and again until its value is the expected one, and returns that. The test's own limit
 * ends it.
 */
export const untilValue = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  isExpected: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let millis = firstPauseMillis; ; millis = Math.min(millis * 1.2, lastPauseMillis)) {
      const value = yield* effect
      if (isExpected(value)) return value
      yield* pause(millis)
    }
  })

/** Waits until the condition holds. The test's own limit ends it. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<boolean, E, R> =>
  untilValue(condition, (holds) => holds)
