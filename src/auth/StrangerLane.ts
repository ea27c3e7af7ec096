import { Duration, Effect, Semaphore } from "effect"
import { ServerBusy } from "../domain/Errors.ts"
import { monotonicSeconds } from "../domain/Monotonic.ts"

/** Look-ups of strangers' keys at once, and those that wait; more are refused. */
const atOnceMax = 4
const waitingMax = 500
const retryAfterSeconds = 5
/** Unknown keys that are looked up in a second, over a second's burst; more wait. */
const unknownPerSecond = 50
const burstSeconds = 1
/** Keys that are known to exist. */
const knownMax = 10_000

/**
 * Keeps the look-ups of keys that were never seen apart from all others: anybody can make up keys with a right check, and must
 * neither take the database from the keys that exist nor keep the process busy. `lookUp` gives null for an unknown key.
 */
export const makeStrangerLane = Effect.gen(function* () {
  const permits = yield* Semaphore.make(atOnceMax)
  const known = new Set<string>()
  let present = 0
  /** When the unknown keys so far would have come, had they come evenly. */
  let dueSeconds = 0

  const remember = (hash: string) => {
    const [oldest] = known
    if (known.size >= knownMax && oldest !== undefined) known.delete(oldest)
    known.add(hash)
  }

  const paced = Effect.fnUntraced(function* <A, E, R>(hash: string, lookUp: Effect.Effect<A | null, E, R>) {
    const early = dueSeconds - burstSeconds - (yield* monotonicSeconds)
    if (early > 0) yield* Effect.sleep(Duration.seconds(early))
    const found = yield* lookUp
    if (found === null) dueSeconds = Math.max(dueSeconds, yield* monotonicSeconds) + 1 / unknownPerSecond
    else remember(hash)
    return found
  })

  const enter = Effect.suspend(() => {
    if (present >= atOnceMax + waitingMax) return Effect.fail(new ServerBusy({ retryAfterSeconds }))
    present++
    return Effect.void
  })

  return <A, E, R>(hash: string, lookUp: Effect.Effect<A | null, E, R>) =>
    Effect.suspend((): Effect.Effect<A | null, E | ServerBusy, R> =>
      known.has(hash)
        ? lookUp
        : Effect.acquireUseRelease(
            enter,
            () => permits.withPermit(paced(hash, lookUp)),
            () => Effect.sync(() => present--)
          )
    )
})
