import { Clock, Effect } from "effect"

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
