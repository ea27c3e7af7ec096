import { Clock, Effect } from "effect"
import type { DatabaseUnavailable, UsageLimitExceeded } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import type { Grant, TokenRequest } from "./TokenCounters.ts"

/** Interval at which the first request of a queue is retried: other processes release tokens, too. */
const retryMillis = 100
/** Waiting requests of one queue. */
const waitingMax = 100

type Reserve = (ask: TokenRequest) => Effect.Effect<Grant, UsageLimitExceeded | DatabaseUnavailable>

/**
 * True if only reservations of running requests are in the way, so that there may be enough a little later.
 */
const isHeld = (error: UsageLimitExceeded | DatabaseUnavailable): boolean =>
  error._tag === "UsageLimitExceeded" && error.used < error.limit

/**
 * Requests of a key with limits of its own wait beside those of the user's other keys, which may go on
 * meanwhile.
 */
const queueOf = ({ limitedKey, userId }: TokenRequest): string => limitedKey ?? userId

/**
 * Reserves, and waits up to `waitSeconds` where running requests have reserved the rest of a limit. The
 * requests of a queue wait in order, and only the first of them tries again. Interruption ends the wait, and
 * never loses a reservation.
 */
export const makeAdmission = (reserve: Reserve, waitSeconds: number): Reserve => {
  const queues = new FairPermits({ perKeyMax: 1 })

  const untilGranted = (ask: TokenRequest, endMillis: number): ReturnType<Reserve> =>
    Effect.catchIf(reserve(ask), isHeld, (error) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        now >= endMillis
          ? Effect.fail(error)
          : Effect.andThen(
              Effect.interruptible(Effect.sleep(`${Math.min(retryMillis, endMillis - now)} millis`)),
              untilGranted(ask, endMillis)
            )
      )
    )

  const enqueue = Effect.fnUntraced(function* (ask: TokenRequest) {
    const endMillis = (yield* Clock.currentTimeMillis) + waitSeconds * 1000
    yield* Effect.interruptible(queues.acquire(queueOf(ask)))
    return yield* untilGranted(ask, endMillis)
  }, Effect.scoped)

  return (ask) =>
    Effect.suspend(() => {
      const requests = () => queues.of(queueOf(ask)).held + queues.of(queueOf(ask)).waiting
      if (requests() > 0 && requests() < waitingMax) return enqueue(ask)
      return Effect.catchIf(reserve(ask), isHeld, (error) =>
        requests() < waitingMax ? enqueue(ask) : Effect.fail(error)
      )
    }).pipe(Effect.uninterruptible)
}

/** Users whose answers are counted, and answers of each. */
const usersMax = 10_000
const answersMax = 16

/** The share of these answers that were not longer than the usual one. */
const usualShare = 0.75

/** The usual answer of an unknown user, and the bounds for all others. */
const tokensUnknown = 1_024
const tokensMin = 256
const tokensMax = 4_096

/** The usual number of tokens of a user's answers, in this process. */
export const makeUsualOutput = () => {
  const known = new Map<UserId, ReadonlyArray<number>>()
  return {
    of: (userId: UserId): number => {
      const tokens = known.get(userId)?.toSorted((a, b) => a - b) ?? []
      const usual = tokens[Math.ceil(tokens.length * usualShare) - 1] ?? tokensUnknown
      return Math.min(Math.max(usual, tokensMin), tokensMax)
    },
    note: (userId: UserId, tokens: number): void => {
      const before = known.get(userId) ?? []
      known.delete(userId)
      known.set(userId, [...before, tokens].slice(-answersMax))
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size > usersMax) known.delete(oldest)
    }
  }
}
