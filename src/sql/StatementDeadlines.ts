import { Clock, Duration, Effect, Fiber } from "effect"
import { inRealTime } from "../domain/Monotonic.ts"
import { Slots } from "../domain/Slots.ts"

/** How often statements that overrun are looked for. */
const sweepMillis = 250
const nanosPerMilli = 1_000_000n

interface Running {
  readonly deadlineNanos: bigint
  readonly overrun: () => void
}

/**
 * Bounds statements by real time. One sweep looks after all of them: a timer and a race for each would cost more than the statement
 * (docs/decisions/request-cost.md). A statement is ended up to `sweepMillis` late, and never early.
 */
export const makeDeadlines = Effect.fnUntraced(function* (millis: number) {
  const running = new Slots<Running>()
  const clock = yield* inRealTime(Clock.Clock)

  yield* Effect.gen(function* () {
    const now = clock.monotonicTimeNanosUnsafe()
    for (const one of running) if (one.deadlineNanos <= now) one.overrun()
    yield* Effect.sleep(Duration.millis(sweepMillis))
  }).pipe(Effect.forever, inRealTime, Effect.forkScoped)

  return <E>(late: () => E) =>
    <A, E1, R>(statement: Effect.Effect<A, E1, R>): Effect.Effect<A, E | E1, R> =>
      Effect.contextWith((context) =>
        Effect.callback<A, E | E1>((resume) => {
          const fiber = Effect.runForkWith(context)(statement)
          const one: Running = {
            deadlineNanos: clock.monotonicTimeNanosUnsafe() + BigInt(millis) * nanosPerMilli,
            overrun: () => {
              running.remove(slot, one)
              resume(Effect.andThen(Fiber.interrupt(fiber), Effect.fail(late())))
            }
          }
          const slot = running.add(one)
          fiber.addObserver((exit) => {
            running.remove(slot, one)
            resume(exit)
          })
          return Effect.suspend(() => {
            running.remove(slot, one)
            return Fiber.interrupt(fiber)
          })
        })
      )
})
