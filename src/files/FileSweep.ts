import { Cause, Clock, Duration, Effect, Schedule, Schema, Stream } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { StorageFailed } from "../domain/Errors.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { BlobStore } from "./BlobStore.ts"

const sweepEveryMinutes = 60
/** Minutes after a sweep in which no other process of the database sweeps. */
const sweptMinutesMin = 55
/** Seconds beyond the longest upload for which bytes without a row may stay in the store. */
const marginSeconds = 3_600
/** Keys that one statement looks up. */
const batchKeysMax = 200
/** In a store with more blobs than this, one sweep removes at most a fixed share of them. */
const smallStoreBlobsMax = 20
const sweptShareMax = 0.1
/** Blobs that one sweep puts into the trash, or removes from it, however large the store is. */
const sweptBlobsMax = 10_000
/** Blobs that are in the trash at once: a sweep holds their keys in memory. */
const trashBlobsMax = 100_000
/** The number of failures after which a step of a sweep is left to the next sweep. */
const failuresMax = 10

const BlobKey = Schema.Struct({ key: Schema.String })

/** The most blobs that one sweep may remove in a store of this many blobs. */
export const sweptAtOnceMax = (blobs: number): number =>
  Math.min(sweptBlobsMax, blobs <= smallStoreBlobsMax ? blobs : Math.floor(blobs * sweptShareMax))

/** The numbers of blobs that one sweep changed. */
interface Swept {
  /** Put into the trash. */
  readonly trashed: number
  /** Removed from the trash, because the database refers to them again. */
  readonly restored: number
  readonly removed: number
  readonly failed: number
}

/** Runs `act` on each key, up to a number of failures, and counts the results. */
const onEach = (
  keys: ReadonlyArray<string>,
  act: (key: string) => Effect.Effect<void, StorageFailed>
): Effect.Effect<{ readonly done: number; readonly failed: number }> =>
  Effect.gen(function* () {
    let done = 0
    let failed = 0
    for (const key of keys) {
      const problem = yield* Effect.match(act(key), { onFailure: (error) => error, onSuccess: () => null })
      if (problem === null) done++
      else if (++failed === 1)
        yield* Effect.logWarning(`A stored file could not be swept: ${problem.message}`)
      if (failed >= failuresMax) break
    }
    return { done, failed }
  })

/** Returns the keys that no file of the database has. */
const unknownAmong = Effect.fnUntraced(function* (keys: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const unknown = yield* sql`SELECT key FROM unnest(${keys}::text[]) AS key
    WHERE NOT EXISTS (SELECT FROM files WHERE storage_key = key)`.pipe(rowsAs(BlobKey), orUnavailable)
  return unknown.map(({ key }) => key)
})

/**
 * Moves bytes without a file into the trash, at most a small share of the store at once. Removes bytes that
 * were in the trash for long enough, and restores those that the database refers to again.
 */
const sweepBlobs = Effect.fnUntraced(function* (age: Duration.Duration) {
  const blobs = yield* BlobStore
  const { trashSeconds } = (yield* AppConfig).files
  yield* blobs.verify

  const trashed = new Map<string, number>()
  yield* blobs.trash.list.pipe(
    Stream.take(trashBlobsMax),
    Stream.runForEach(({ key, since }) => Effect.sync(() => trashed.set(key, since)))
  )
  const unknown = new Set<string>()
  yield* Stream.fromIterable(trashed.keys()).pipe(
    Stream.grouped(batchKeysMax),
    Stream.mapEffect(unknownAmong),
    Stream.runForEach((keys) => Effect.sync(() => keys.forEach((key) => unknown.add(key))))
  )
  const restored = yield* onEach(
    [...trashed.keys()].filter((key) => !unknown.has(key)),
    blobs.trash.take
  )

  let held = 0
  let orphans = 0
  const candidates: Array<string> = []
  yield* blobs.olderThan(age).pipe(
    Stream.grouped(batchKeysMax),
    Stream.runForEach(
      Effect.fnUntraced(function* (keys) {
        held += keys.length
        for (const key of yield* unknownAmong(keys)) {
          if (trashed.has(key)) continue
          orphans++
          if (candidates.length < sweptBlobsMax) candidates.push(key)
        }
      })
    )
  )

  const most = sweptAtOnceMax(held)
  const isSuspicious = orphans > most
  if (isSuspicious) {
    yield* Effect.logWarning(
      `${orphans} of the ${held} stored files in ${blobs.place} belong to no file of the database, and only ${most} of them are put into ` +
        `the trash at once. If the database was restored from an older backup, restore the newest: files come back out of the trash ` +
        `for ${trashSeconds} seconds. Nothing is removed from the trash meanwhile.`
    )
  }
  const room = Math.max(0, trashBlobsMax - trashed.size)
  const added = yield* onEach(candidates.slice(0, Math.min(most, room)), blobs.trash.add)

  const before = (yield* Clock.currentTimeMillis) - trashSeconds * 1_000
  const expired = [...unknown].filter((key) => (trashed.get(key) ?? Infinity) <= before)
  // The database may have been restored since the first check.
  const isKept = isSuspicious || (yield* blobs.isHeld)
  const removable = isKept ? [] : yield* unknownAmong(expired.slice(0, most))
  const removed = yield* onEach(removable, (key) => Effect.andThen(blobs.remove(key), blobs.trash.take(key)))
  const swept: Swept = {
    trashed: added.done,
    restored: restored.done,
    removed: removed.done,
    failed: added.failed + restored.failed + removed.failed
  }
  return swept
})

const logSwept = (swept: Swept) =>
  Object.values(swept).every((count) => count === 0)
    ? Effect.void
    : Effect.logInfo(
        `The store of files was swept: ${swept.trashed} put into the trash, ${swept.restored} restored from it, ${swept.removed} removed, ${swept.failed} failed.`
      ).pipe(Effect.annotateLogs({ ...swept }))

/** Logs the failure of one step, which does not stop the others. */
const step = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
  Effect.catchCause(orUnavailable(effect), (cause) =>
    Effect.logWarning(`${what} failed: ${failureReason(Cause.squash(cause))}`)
  )

/** One sweep: half-written bytes, and bytes without a file. */
export const sweepOnce = Effect.gen(function* () {
  const blobs = yield* BlobStore
  const { uploadSeconds } = (yield* AppConfig).files
  const age = Duration.seconds(uploadSeconds + marginSeconds)
  yield* step("The sweep of uploads that were broken off", blobs.sweepLeftovers(age))
  yield* step("The sweep of stored files", Effect.flatMap(sweepBlobs(age), logSwept))
})

/**
 * True for one process of the database once an hour, so that restarts and many processes don't sweep more.
 */
const isDue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* sql`UPDATE file_store_binding SET swept_at = now()
    WHERE swept_at IS NULL OR swept_at <= now() - make_interval(mins => ${sweptMinutesMin}) RETURNING database_id`
  return claimed.length > 0
})

/** Sweeps at the start and every hour until the scope closes. */
export const sweepFiles = step(
  "The sweep",
  Effect.flatMap(isDue, (due) => (due ? sweepOnce : Effect.void))
).pipe(Effect.repeat(Schedule.spaced(`${sweepEveryMinutes} minutes`)), Effect.forkScoped)

/** Expired files are treated as missing at once; the next sweep deletes them. */
const sweepEvery = "1 minute"
/** Files that one statement deletes. */
const batchFilesMax = 100

/**
 * Deletes a batch of files with their texts, their bytes and their share of the counts. Returns the number of
 * files.
 */
export const deleteBatch = Effect.fnUntraced(function* (condition: Statement.Fragment) {
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const gone = yield* sql`WITH gone AS (
      DELETE FROM files WHERE id IN (
        SELECT id FROM files WHERE ${condition}
        ORDER BY expires_at LIMIT ${batchFilesMax} FOR UPDATE SKIP LOCKED
      ) RETURNING user_id, bytes, storage_key
    ), counted AS (
      SELECT user_id, count(*)::int AS files, sum(bytes)::bigint AS bytes FROM gone GROUP BY user_id
    ), freed AS (
      UPDATE file_usage SET files = file_usage.files - counted.files, bytes = file_usage.bytes - counted.bytes
      FROM counted WHERE file_usage.user_id = counted.user_id
    )
    SELECT storage_key AS key FROM gone`.pipe(rowsAs(BlobKey), orUnavailable)
  // The hourly sweep finds the bytes that could not be removed.
  yield* Effect.forEach(gone, ({ key }) => Effect.ignore(blobs.remove(key)), { discard: true })
  return gone.length
}, Effect.uninterruptible)

/** Deletes a batch of expired files. */
export const deleteExpiredBatch = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  deleteBatch(sql`expires_at <= now()`)
)

const sweep = Effect.gen(function* () {
  while ((yield* deleteExpiredBatch) === batchFilesMax) yield* Effect.yieldNow
})

/** Sweeps every minute until the scope closes. Several processes may do so at once. */
export const sweepExpired = sweep.pipe(
  Effect.catchCause((cause) => Effect.logWarning("Expired files could not be deleted", cause)),
  Effect.repeat(Schedule.spaced(sweepEvery)),
  Effect.forkScoped
)
