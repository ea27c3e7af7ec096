import { Clock, Context, Duration, Effect, Layer, Option, type Scope } from "effect"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { ServerBusy, UserLimitReached } from "../domain/Errors.ts"
import { FairPermits, type Permits } from "../runtime/FairPermits.ts"
import { AppConfig } from "../settings/AppConfig.ts"

/** Waiting requests of one user; more are refused at once. */
const waitingMax = 2_000
/** Seconds whose requests a user may send at once after a pause. */
const burstSeconds = 5
/** Users whose rate is tracked before those without recent requests are removed. */
const pacesMax = 10_000
const nanosPerSecond = 1_000_000_000

/**
 * Limits for the requests of one user, so that no user keeps the others waiting. A request beyond a limit
 * waits for up to `http.userWaitSeconds`, before its body is read, and is then refused.
 */
export class UserBounds extends Context.Service<
  UserBounds,
  {
    /**
     * Admits a request until the scope closes, by the rate of requests and by those under way at once. Its
     * body counts for the same user.
     */
    readonly admit: (user: string) => Effect.Effect<void, UserLimitReached, Scope.Scope>
    /**
     * Reserves room for a body of up to `bytesMax` until the scope closes. Reduce the permits if it is
     * shorter.
     */
    readonly admitBody: (
      user: string,
      bytesMax: number
    ) => Effect.Effect<Permits, UserLimitReached | ServerBusy, Scope.Scope>
  }
>()("parley/http/UserBounds") {
  static readonly layer = Layer.effect(
    UserBounds,
    Effect.gen(function* () {
      const { http } = yield* AppConfig
      const { bodiesBytesMax, userBodyBytesMax, userRequestsMax, userRequestsPerMinute, userWaitSeconds } =
        http
      const requests = new FairPermits({ perKeyMax: userRequestsMax })
      const bodies = new FairPermits({ totalMax: bodiesBytesMax, perKeyMax: userBodyBytesMax })
      const secondsUntilDue = makePace(userRequestsPerMinute, userWaitSeconds)
      const wait = Effect.sleep(Duration.seconds(userWaitSeconds))

      const acquire = (permits: FairPermits, user: string, amount: number) =>
        Effect.suspend(() =>
          permits.of(user).waiting >= waitingMax
            ? Effect.succeedNone
            : permits.acquireWithin(user, amount, Duration.seconds(userWaitSeconds))
        )

      const limitReached = (limit: UserLimitReached["limit"], max: number, seconds: number) =>
        new UserLimitReached({ limit, max, retryAfterSeconds: Math.max(1, Math.ceil(seconds)) })

      const keepRate = Effect.fnUntraced(function* (user: string) {
        const seconds = secondsUntilDue(user, Number(yield* Clock.monotonicTimeNanos) / nanosPerSecond)
        if (seconds <= 0) return
        if (seconds <= userWaitSeconds) return yield* Effect.sleep(Duration.seconds(seconds))
        // A client that retries at once costs more than one that waits.
        yield* wait
        return yield* limitReached("rate", userRequestsPerMinute, seconds - userWaitSeconds)
      })

      const admit = Effect.fnUntraced(function* (user: string) {
        const entry = yield* CurrentAccess
        if (entry !== null) entry.boundedBy = user
        yield* keepRate(user)
        const permits = yield* acquire(requests, user, 1)
        if (Option.isNone(permits)) return yield* limitReached("requests", userRequestsMax, userWaitSeconds)
      })

      const admitBody = Effect.fnUntraced(function* (user: string, bytesMax: number) {
        const permits = yield* acquire(bodies, user, bytesMax)
        if (Option.isSome(permits)) return permits.value
        // Within the user's own maximum, so other users hold the rest.
        if (bodies.of(user).held + bytesMax <= Math.min(userBodyBytesMax, bodiesBytesMax)) {
          return yield* new ServerBusy({ retryAfterSeconds: userWaitSeconds })
        }
        return yield* limitReached("bodies", userBodyBytesMax, userWaitSeconds)
      })

      return UserBounds.of({ admit, admitBody })
    })
  )
}

/**
 * A rate limit for each user: returns the seconds that the next request must wait. A request that must wait
 * for longer than `secondsMax` doesn't count, because it is refused. Source: the generic cell rate algorithm.
 */
export const makePace = (requestsPerMinute: number, secondsMax: number) => {
  const interval = 60 / requestsPerMinute
  const burst = Math.max(burstSeconds, interval)
  /** The time at which a user's requests so far would have arrived if they came evenly. */
  const due = new Map<string, number>()

  const removeIdle = (now: number) => {
    for (const [user, seconds] of due) if (seconds <= now) due.delete(user)
  }

  return (user: string, now: number): number => {
    if (due.size >= pacesMax) removeIdle(now)
    const next = Math.max(due.get(user) ?? now, now) + interval
    const wait = next - burst - now
    if (wait <= secondsMax) due.set(user, next)
    return wait
  }
}
