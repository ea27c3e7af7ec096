import { Deferred, Effect } from "effect"

/** The one name where all wait for the same. */
export const any = "any"

/** Wakes those who wait for a change that this process makes; others look for it. */
export const makeSignals = () => {
  const waiting = new Map<string, Set<Deferred.Deferred<void>>>()

  const notify = (id: string) =>
    Effect.suspend(() => {
      const found = [...(waiting.get(id) ?? [])]
      waiting.delete(id)
      return Effect.forEach(found, (one) => Deferred.succeed(one, undefined), { discard: true })
    })

  /** Waits for a change, or for the time after which to look for one. */
  const changed = (id: string, millis: number) =>
    Effect.gen(function* () {
      const one = yield* Deferred.make<void>()
      const others = waiting.get(id) ?? new Set()
      waiting.set(id, others.add(one))
      yield* Effect.raceFirst(Deferred.await(one), Effect.sleep(millis)).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            others.delete(one)
            if (others.size === 0 && waiting.get(id) === others) waiting.delete(id)
          })
        )
      )
    })

  return { notify, changed }
}

export type Signals = ReturnType<typeof makeSignals>
