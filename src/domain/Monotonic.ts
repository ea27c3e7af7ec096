import { Clock, Effect } from "effect"

/** Runs an effect by the real clock: a server lives in real time, also where a test moves the clock of everything else. */
export const inRealTime = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

/** Time that nobody sets, for whatever lasts. Its zero means nothing. */

const nanosPerSecond = 1_000_000_000

export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)

export const monotonicSeconds: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / nanosPerSecond
)

/** Seconds between two readings of the monotonic clock. */
export const secondsBetween = (from: bigint, to: bigint): number => Number(to - from) / nanosPerSecond
