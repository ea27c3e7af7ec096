import { Effect, Fiber } from "effect"
import { Slots } from "./Slots.ts"

/** What ends everything that depends on it, if it happens. */
export interface Alarm<out E> {
  /** Fails when it is raised; never succeeds. */
  readonly failure: Effect.Effect<never, E>
  /** Calls back once when it is raised, or at once if it was. Returns what calls that off. */
  readonly listen: (raised: () => void) => () => void
}

/** One that can be raised. Only the first time counts. */
export interface RaisableAlarm<in out E> extends Alarm<E> {
  readonly raise: (error: E) => void
}

export const makeAlarm = <E>(): RaisableAlarm<E> => {
  const listeners = new Slots<() => void>()
  let failed: Effect.Effect<never, E> | null = null

  const raise = (error: E): void => {
    if (failed !== null) return
    failed = Effect.fail(error)
    for (const raised of listeners) raised()
  }

  const listen = (raised: () => void): (() => void) => {
    if (failed !== null) {
      raised()
      return ignore
    }
    // The same function may listen twice.
    const once = () => raised()
    const slot = listeners.add(once)
    return () => listeners.remove(slot, once)
  }

  const failure = Effect.callback<never, E>((resume) => {
    const stop = listen(() => resume(failed ?? Effect.never))
    return Effect.sync(stop)
  })

  return { raise, listen, failure }
}

/** Was raised already. */
export const raised = <E>(error: E): Alarm<E> => {
  const alarm = makeAlarm<E>()
  alarm.raise(error)
  return alarm
}

const ignore = () => {}

/** Is never raised. */
export const noAlarm: Alarm<never> = { failure: Effect.never, listen: () => ignore }

/**
 * Runs the effect until an alarm is raised, which interrupts it and fails. A race would need a fiber for each of the three
 * (docs/decisions/request-cost.md).
 */
export const unless =
  <E1, E2 = never>(first: Alarm<E1>, second: Alarm<E2> = noAlarm) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | E1 | E2, R> =>
    Effect.contextWith((context) =>
      Effect.callback<A, E | E1 | E2>((resume) => {
        const fiber = Effect.runForkWith(context)(effect)
        const end = ({ failure }: Alarm<E1 | E2>) => resume(Effect.andThen(Fiber.interrupt(fiber), failure))
        const ignoreFirst = first.listen(() => end(first))
        const ignoreSecond = second.listen(() => end(second))
        const ignoreBoth = () => {
          ignoreFirst()
          ignoreSecond()
        }
        fiber.addObserver((exit) => {
          ignoreBoth()
          resume(exit)
        })
        return Effect.suspend(() => {
          ignoreBoth()
          return Fiber.interrupt(fiber)
        })
      })
    )
