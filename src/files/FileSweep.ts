import { Duration, Effect, Schedule, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { BlobStore } from "./BlobStore.ts"
import { jobsTable } from "./ReadingTurns.ts"

const sweepEvery = "1 hour"
/** What an upload writes may lie there for as long as the upload takes and this much longer. */
const marginSeconds = 3_600
/** Keys that one statement looks up. */
const batchKeysMax = 200
/** Hours after which a file that nobody will read counts as unreadable. */
const unreadHoursMax = 1

const forgotten = "The text of the file was never read. Upload it again."

const Keys = Schema.Array(Schema.Struct({ key: Schema.String }))

/** One sweep: bytes without a file, half-written bytes, and files whose job was lost. */
export const sweepOnce = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const { uploadSeconds } = (yield* AppConfig).files
  const age = Duration.seconds(uploadSeconds + marginSeconds)

  const orphansAmong = (keys: ReadonlyArray<string>) =>
    sql`SELECT key FROM unnest(${keys}::text[]) AS key
      WHERE NOT EXISTS (SELECT FROM files WHERE storage_key = key)`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Keys))
    )

  yield* blobs.sweepLeftovers(age)
  yield* blobs
    .olderThan(age)
    .pipe(
      Stream.grouped(batchKeysMax),
      Stream.mapEffect(orphansAmong),
      Stream.runForEach(Effect.forEach(({ key }) => blobs.remove(key), { discard: true }))
    )
  yield* sql`UPDATE files SET status = 'error', status_details = ${forgotten}
    WHERE status = 'uploaded' AND created_at < now() - make_interval(hours => ${unreadHoursMax})
      AND EXISTS (SELECT FROM ${sql(jobsTable)} AS job WHERE job.id = files.id::text AND job.state <> 'pending')`
})

/** Sweeps at the start and every hour until the scope closes. Several processes may do so at once. */
export const sweepFiles = sweepOnce.pipe(
  orUnavailable,
  Effect.catchCause((cause) => Effect.logWarning("The store of files could not be swept", cause)),
  Effect.repeat(Schedule.spaced(sweepEvery)),
  Effect.forkScoped
)
