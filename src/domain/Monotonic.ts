import { Clock, Effect } from "effect"

/** Runs an effect by the real clock, also under a TestClock: for servers and processes outside of the test. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

/** Monotonic time measures durations: it can't be set, and its zero has no meaning. */

const nanosPerSecond = 1_000_000_000

export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)

export const monotonicSeconds: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / nanosPerSecond
)

export const secondsBetween = (from: bigint, to: bigint): number => Number(to - from) / nanosPerSecond
