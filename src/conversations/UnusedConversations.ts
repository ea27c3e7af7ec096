import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** Hours after which a hidden conversation that never got a turn is deleted. */
const unusedHoursMax = 24
const sweepEvery = "1 hour"
/** Rows that one statement deletes. */
const batchRowsMax = 500

/** Deletes one batch of unused conversations; the answer is how many there were. */
export const deleteUnusedBatch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const deleted = yield* sql`DELETE FROM conversations WHERE id IN (
      SELECT id FROM conversations
      WHERE hidden AND turn_count = 0 AND created_at < now() - make_interval(hours => ${unusedHoursMax})
        AND (lease_until IS NULL OR lease_until <= clock_timestamp())
      ORDER BY created_at LIMIT ${batchRowsMax} FOR UPDATE SKIP LOCKED
    ) RETURNING id`
  return deleted.length
})

const sweep = Effect.gen(function* () {
  while ((yield* deleteUnusedBatch) === batchRowsMax) yield* Effect.yieldNow
})

/** Sweeps every hour until the scope closes. Several processes may do so at once. */
export const sweepUnusedConversations = sweep.pipe(
  orUnavailable,
  Effect.catch((error) => Effect.logWarning("Unused conversations could not be deleted", error)),
  Effect.repeat(Schedule.spaced(sweepEvery)),
  Effect.forkScoped
)
