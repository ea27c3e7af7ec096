import { Effect, Fiber } from "effect"

/** What ends everything that depends on it, if it happens. */
export interface Alarm<out E> {
  /** Fails when it is raised; never succeeds. */
  readonly failure: Effect.Effect<never, E>
  /** Calls back once when it is raised, or at once if it was. Returns what calls that off. */
  readonly listen: (raised: () => void) => () => void
}

/**
 * Runs the effect until the alarm is raised, which interrupts it and fails. A race would need one more fiber for each
 * (docs/decisions/request-cost.md).
 */
export const unless =
  <E1>(alarm: Alarm<E1>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | E1, R> =>
    Effect.contextWith((context) =>
      Effect.callback<A, E | E1>((resume) => {
        const fiber = Effect.runForkWith(context)(effect)
        const ignore = alarm.listen(() => resume(Effect.andThen(Fiber.interrupt(fiber), alarm.failure)))
        fiber.addObserver((exit) => {
          ignore()
          resume(exit)
        })
        return Effect.suspend(() => {
          ignore()
          return Fiber.interrupt(fiber)
        })
      })
    )
