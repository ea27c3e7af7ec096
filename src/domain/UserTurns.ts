import { Duration, Effect, Option, Scope } from "effect"
import { type Claim, UserShares } from "./UserShares.ts"

const whenHeld = (claim: Claim): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (claim.state === "held") resume(Effect.void)
    else claim.onHeld = () => resume(Effect.void)
  })

/** A share, held until the scope closes; none where there is no room for it within the time. */
export const takeShare = (
  shares: UserShares,
  user: string,
  amount: number,
  within: Duration.Duration
): Effect.Effect<Option.Option<Claim>, never, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const claim = shares.claim(user, amount)
      yield* Effect.addFinalizer(() => Effect.sync(() => shares.end(claim)))
      if (claim.state === "held") return Option.some(claim)
      const held = yield* restore(Effect.timeoutOption(whenHeld(claim), within))
      if (Option.isNone(held)) shares.end(claim)
      return Option.as(held, claim)
    })
  )

/**
 * Runs tasks on behalf of users, a limited number at once. The others wait: users take turns, and the tasks of one user run in
 * their order, so that nobody's second task runs before another user's first.
 */
export const makeUserTurns = (limits: { readonly atOnceMax: number; readonly perUserMax: number }) => {
  const shares = new UserShares({ totalMax: limits.atOnceMax, perUserMax: limits.perUserMax })
  return (user: string) =>
    <A, E, R>(task: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) =>
        takeShare(shares, user, 1, Duration.infinity).pipe(
          Effect.provideService(Scope.Scope, scope),
          Effect.andThen(task)
        )
      )
}
