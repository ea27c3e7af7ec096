import { DateTime, Effect, Queue, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { ApiKeyId } from "../domain/Ids.ts"

/** The age of the recorded last use of a key at which a new one is written. */
export const lastUseSeconds = 60

/** Keys queued to have their last use written; beyond that they are dropped until their next look-up. */
const waitingKeysMax = 10_000

/** Keys whose last use is written by one statement. */
const batchKeysMax = 200

/**
 * Returns a function that queues a key and returns at once; a fiber writes the queued keys, one statement at
 * a time. A write that fails is dropped.
 */
export const makeLastUse: Effect.Effect<(id: ApiKeyId) => void, never, SqlClient.SqlClient | Scope.Scope> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const waiting = yield* Queue.dropping<ApiKeyId>(waitingKeysMax)

    const write = Effect.gen(function* () {
      const ids = yield* Queue.takeBetween(waiting, 1, batchKeysMax)
      const now = yield* DateTime.now
      const before = DateTime.subtract(now, { seconds: lastUseSeconds })
      // Other processes write the same column, so check the age again.
      yield* sql`
        UPDATE api_keys SET last_used_at = ${DateTime.toDateUtc(now)}
        WHERE ${sql.in("id", ids)}
          AND (last_used_at IS NULL OR last_used_at <= ${DateTime.toDateUtc(before)})`
    }).pipe(
      Effect.catchCause((cause) => Effect.logDebug("The last use of some keys could not be written", cause))
    )

    yield* Effect.forkScoped(Effect.forever(write))
    return (id) => {
      Queue.offerUnsafe(waiting, id)
    }
  })
