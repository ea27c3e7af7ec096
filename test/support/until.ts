import { Effect } from "effect"

const pauseMillis = 5

/** Looks again and again until `condition` holds. The test's own limit ends it. */
export const until = <E, R>(condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    while (!(yield* condition)) yield* Effect.sleep(pauseMillis)
  })
