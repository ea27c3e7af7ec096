import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"

/** Files are gone for everybody at their time; what they take is freed by the next sweep. */
const sweepEvery = "1 minute"
/** Files that one statement deletes. */
const batchFilesMax = 100

const Keys = Schema.Array(Schema.Struct({ storageKey: Schema.String }))

/** Deletes a batch of the files whose time is over, their texts, their bytes and their share of the counts. */
export const deleteExpiredBatch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const gone = yield* sql`WITH gone AS (
      DELETE FROM files WHERE id IN (
        SELECT id FROM files WHERE expires_at <= now()
        ORDER BY expires_at LIMIT ${batchFilesMax} FOR UPDATE SKIP LOCKED
      ) RETURNING user_id, bytes, storage_key
    ), counted AS (
      SELECT user_id, count(*)::int AS files, sum(bytes)::bigint AS bytes FROM gone GROUP BY user_id
    ), freed AS (
      UPDATE file_usage SET files = file_usage.files - counted.files, bytes = file_usage.bytes - counted.bytes
      FROM counted WHERE file_usage.user_id = counted.user_id
    )
    SELECT storage_key FROM gone`.pipe(Effect.flatMap(Schema.decodeUnknownEffect(Keys)), orUnavailable)
  // The hourly sweep finds the bytes that could not be removed.
  yield* Effect.forEach(gone, ({ storageKey }) => Effect.ignore(blobs.remove(storageKey)), { discard: true })
  return gone.length
}).pipe(Effect.uninterruptible)

const sweep = Effect.gen(function* () {
  while ((yield* deleteExpiredBatch) === batchFilesMax) yield* Effect.yieldNow
})

/** Sweeps every minute until the scope closes. Several processes may do so at once. */
export const sweepExpired = sweep.pipe(
  Effect.catch((error) => Effect.logWarning("Expired files could not be deleted", error)),
  Effect.repeat(Schedule.spaced(sweepEvery)),
  Effect.forkScoped
)
