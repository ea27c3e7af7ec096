import { Clock, Duration, Effect, Fiber, Option } from "effect"
import { Slots } from "./Slots.ts"

/** How often those that overrun are looked for, at most and at least. */
const sweepMillisMax = 250
const sweepMillisMin = 10
/** Of the time that they have. */
const sweepShare = 0.05
const nanosPerMilli = 1_000_000n

interface Waiting {
  readonly deadlineNanos: bigint
  readonly overrun: () => void
}

/**
 * Bounds what is waited for. One sweep looks after all of it, while there is any: a race with a timer for each would be two fibers
 * (docs/decisions/request-cost.md). `overrun` is called up to a quarter of a second late, and never early, unless what `begin`
 * returned was called before.
 */
export const makeDeadlines = Effect.fnUntraced(function* (millis: number) {
  const waiting = new Slots<Waiting>()
  let waits = 0
  let isSweeping = false
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const context = yield* Effect.context<never>()
  const nanos = BigInt(millis) * nanosPerMilli
  const sweepMillis = Math.min(sweepMillisMax, Math.max(sweepMillisMin, millis * sweepShare))

  const sweep: Effect.Effect<void> = Effect.flatMap(Effect.sleep(Duration.millis(sweepMillis)), () => {
    const now = clock.monotonicTimeNanosUnsafe()
    for (const one of waiting) if (one.deadlineNanos <= now) one.overrun()
    isSweeping = waits > 0
    return isSweeping ? sweep : Effect.void
  })

  const begin = (overrun: () => void): (() => void) => {
    let hasEnded = false
    const end = () => {
      if (hasEnded) return
      hasEnded = true
      waits--
      waiting.remove(slot, one)
    }
    const one: Waiting = {
      deadlineNanos: clock.monotonicTimeNanosUnsafe() + nanos,
      overrun: () => {
        end()
        overrun()
      }
    }
    const slot = waiting.add(one)
    waits++
    if (!isSweeping) {
      isSweeping = true
      Fiber.runIn(Effect.runForkWith(context)(sweep), scope)
    }
    return end
  }
  return begin
})

export type Deadline = Effect.Success<ReturnType<typeof makeDeadlines>>

/** What the fiber ends with; none if it hasn't by then. It is not interrupted. */
export const joinBy = <A, E>(fiber: Fiber.Fiber<A, E>, begin: Deadline): Effect.Effect<Option.Option<A>, E> =>
  Effect.callback((resume) => {
    const end = begin(() => resume(Effect.succeedNone))
    const remove = fiber.addObserver((exit) => {
      end()
      resume(Effect.asSome(exit))
    })
    return Effect.sync(() => {
      end()
      remove()
    })
  })
