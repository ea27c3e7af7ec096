import { Deferred, Effect } from "effect"

/** The name for waiting on all jobs. */
export const any = "any"

/** Wakes waiting readers after a change by this process. Changes of other processes are found by polling. */
export const makeSignals = () => {
  const waiting = new Map<string, Set<Deferred.Deferred<void>>>()

  const notify = (id: string) =>
    Effect.suspend(() => {
      const found = [...(waiting.get(id) ?? [])]
      waiting.delete(id)
      return Effect.forEach(found, (one) => Deferred.succeed(one, undefined), { discard: true })
    })

  /** Waits for a change, or at most this long. */
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
