import { Effect } from "effect"
import type { ResponseId, UserId } from "../domain/Ids.ts"
import type { Held, makeTokenCounters } from "./TokenCounters.ts"

/** What one process holds of token limits for the responses that it works on. */
export const makeHoldings = (counters: Effect.Success<typeof makeTokenCounters>) => {
  const holding = new Map<ResponseId, ReadonlyArray<Held>>()

  /** Responses whose reservation may or may not have been made: the answer to it was lost. */
  const doubtful = new Set<ResponseId>()

  const lapse = Effect.fnUntraced(function* (userId: UserId | null) {
    const ids = [...doubtful]
    yield* counters.lapse(userId, ids)
    for (const id of ids) doubtful.delete(id)
  })

  const renew = Effect.gen(function* () {
    const lost = yield* counters.renew([...holding.values()].flat())
    const running = lost.filter(({ responseId }) => holding.has(responseId))
    if (running.length === 0) return
    yield* Effect.logWarning("What running requests hold of token limits had lapsed; it is held again.")
    yield* counters.holdAgain(running)
  })

  return {
    add: (held: Held): void => {
      holding.set(held.responseId, [...(holding.get(held.responseId) ?? []), held])
    },
    /** What is held for it is given back by whoever records it, or else lapses. */
    forget: (id: ResponseId): void => {
      holding.delete(id)
    },
    doubt: (id: ResponseId): void => {
      doubtful.add(id)
    },
    /** Gives back what nobody renewed in time, of one user or of all, and what is in doubt here. */
    lapse,
    /** Renews all, and lets lapse what others didn't renew. To be done several times within the life of a reservation. */
    keepUp: Effect.suspend(() => Effect.andThen(holding.size === 0 ? Effect.void : renew, lapse(null)))
  }
}
