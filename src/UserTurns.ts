import { Effect, PartitionedSemaphore, RcMap, Scope, Semaphore } from "effect"

export interface UserTurnsOptions {
  /** Tasks of all users together that run at once. */
  readonly atOnceMax: number
  /** Tasks of one user that run at once. */
  readonly perUserMax: number
}

/**
 * Runs tasks on behalf of users, a limited number at once. The others wait: users take turns, and the tasks of one user run in
 * their order, so that nobody's second task runs before another user's first.
 */
export const makeUserTurns = Effect.fnUntraced(function* ({ atOnceMax, perUserMax }: UserTurnsOptions) {
  const all = yield* PartitionedSemaphore.make<string>({ permits: atOnceMax })
  const own = yield* RcMap.make({ lookup: (_user: string) => Semaphore.make(perUserMax) })

  return (user: string) =>
    <A, E, R>(task: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) =>
        RcMap.get(own, user).pipe(
          Effect.provideService(Scope.Scope, scope),
          Effect.flatMap((permits) => permits.withPermit(all.withPermit(user)(task)))
        )
      )
})
