import { Clock, Context, Duration, Effect, Layer, Option, type Scope } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { ServerBusy, UserLimitReached } from "../domain/Errors.ts"
import { FairPermits, type Permits } from "../domain/FairPermits.ts"

/** Requests of one user that wait for the same thing; more are refused at once. */
const waitingMax = 2_000
/** A user who has rested may send the requests of so many seconds at once. */
const burstSeconds = 5
/** Users whose pace is remembered before those are forgotten who have rested. */
const pacesMax = 10_000
const nanosPerSecond = 1_000_000_000

/**
 * What the requests of one user may take of this process, so that none keeps the others waiting. What goes beyond waits its
 * turn for `http.userWaitSeconds`, before the body is read, and is refused afterwards.
 */
export class UserBounds extends Context.Service<
  UserBounds,
  {
    /** Admits a request until the scope closes: to so many a minute, and to so many at once. */
    readonly admit: (user: string) => Effect.Effect<void, UserLimitReached, Scope.Scope>
    /**
     * Makes room for a body that is announced to be so long, until the scope closes. Reduce the permits where it was shorter.
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
      const rest = Effect.sleep(Duration.seconds(userWaitSeconds))

      const acquire = (permits: FairPermits, user: string, amount: number) =>
        Effect.suspend(() =>
          permits.of(user).waiting >= waitingMax
            ? Effect.succeedNone
            : Effect.timeoutOption(permits.acquire(user, amount), Duration.seconds(userWaitSeconds))
        )

      const limitReached = (limit: UserLimitReached["limit"], max: number, seconds: number) =>
        new UserLimitReached({ limit, max, retryAfterSeconds: Math.max(1, Math.ceil(seconds)) })

      const keepPace = Effect.fnUntraced(function* (user: string) {
        const seconds = secondsUntilDue(user, Number(yield* Clock.monotonicTimeNanos) / nanosPerSecond)
        if (seconds <= 0) return
        if (seconds <= userWaitSeconds) return yield* Effect.sleep(Duration.seconds(seconds))
        // A client that asks again at once would cost more than one that is kept waiting.
        yield* rest
        return yield* limitReached("rate", userRequestsPerMinute, seconds - userWaitSeconds)
      })

      const admit = Effect.fnUntraced(function* (user: string) {
        yield* keepPace(user)
        const permits = yield* acquire(requests, user, 1)
        if (Option.isNone(permits)) return yield* limitReached("requests", userRequestsMax, userWaitSeconds)
      })

      const admitBody = Effect.fnUntraced(function* (user: string, bytesMax: number) {
        const permits = yield* acquire(bodies, user, bytesMax)
        if (Option.isSome(permits)) return permits.value
        // Where the user's own maximum leaves room, the other users hold the rest.
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
 * How long a user's next request must wait to keep the pace. One that has to wait for longer than `secondsMax` will be
 * refused, and doesn't count. Source: the generic cell rate algorithm.
 */
export const makePace = (requestsPerMinute: number, secondsMax: number) => {
  const interval = 60 / requestsPerMinute
  const burst = Math.max(burstSeconds, interval)
  /** When the requests of a user so far would be due, had they come evenly. */
  const due = new Map<string, number>()

  const forgetRested = (now: number) => {
    for (const [user, seconds] of due) if (seconds <= now) due.delete(user)
  }

  return (user: string, now: number): number => {
    if (due.size >= pacesMax) forgetRested(now)
    const next = Math.max(due.get(user) ?? now, now) + interval
    const wait = next - burst - now
    if (wait <= secondsMax) due.set(user, next)
    return wait
  }
}
