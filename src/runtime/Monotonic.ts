import { Clock, Context, Effect } from "effect"

/** The real clock, which any context without a clock has. */
const realClock = Context.get(Context.empty(), Clock.Clock)

/**
 * Runs an effect by the real clock, also under a TestClock: for servers and processes outside of the test.
 */
export const inRealTime = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    fiber.getRef(Clock.Clock) === realClock ? self : Effect.provideService(self, Clock.Clock, realClock)
  )

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
