import { Cause, Deferred, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlError } from "effect/sql"
import { AppConfig } from "../AppConfig.ts"
import { FileId } from "../domain/Ids.ts"
import { BlobStore } from "./BlobStore.ts"
import type { FileTable, KeptFile } from "./FileTable.ts"
import { TextExtraction } from "./TextExtraction.ts"

/** Table of the queue; migrations make it, and the sweep looks into it. */
export const jobsTable = "file_jobs"

/** How often a job may break off, because its process died or the store was away, before the file counts as unreadable. */
export const attemptsMax = 5
/** Pause after the first attempt that broke off; it doubles with each. */
const retrySeconds = 2
/** How soon a process notices jobs that another one offered, or left behind. */
const pollSeconds = 2
/** How long the jobs of a process that died stay locked, and how often a living one renews its locks. */
const lockSeconds = 30
const lockRefreshSeconds = 10
/** Pause of a worker after the queue itself failed. */
const restSeconds = 1
/** A job that is done is of no more use; this long it is kept. */
const doneJobHours = 1
const failedJobDays = 30
/** How often an upload looks whether another process has read its text. */
const lookSeconds = 1

const gaveUp = "The text of the file could not be read, though it was tried several times."

const Job = Schema.Struct({ fileId: FileId })

/** The queue in the tables that migrations made. */
export const layerQueue = PersistedQueue.layer.pipe(
  Layer.merge(
    PersistedQueue.layerCleanup({
      timeToLive: Duration.hours(doneJobHours),
      failedTimeToLive: Duration.days(failedJobDays)
    })
  ),
  Layer.provide(
    PersistedQueue.layerStoreSql({
      tableName: jobsTable,
      pollInterval: Duration.seconds(pollSeconds),
      lockExpiration: Duration.seconds(lockSeconds),
      lockRefreshInterval: Duration.seconds(lockRefreshSeconds)
    })
  ),
  Layer.orDie
)

/** What the queue wraps: the failure of its statement, for whoever knows what to make of that. */
const sqlFailure = (error: PersistedQueue.PersistedQueueError): Effect.Effect<never, SqlError.SqlError> => {
  const found = Cause.isCause(error.cause) ? Cause.squash(error.cause) : error.cause
  return SqlError.isSqlError(found) ? Effect.fail(found) : Effect.die(error)
}

/**
 * Reads the texts of files, for as long as the scope is open: in this process or, should it end, in another one or a later
 * one. A file is read by one process at a time, and counts as unreadable when that broke off `attemptsMax` times.
 */
export const makeTextJobs = Effect.fnUntraced(function* (table: FileTable) {
  const { extractionsMax } = (yield* AppConfig).files
  const blobs = yield* BlobStore
  const extraction = yield* TextExtraction
  const queue = yield* PersistedQueue.make({
    name: "texts",
    schema: Job,
    // The attempt after the last one only writes down that there will be no other.
    maxAttempts: attemptsMax + 1,
    retrySchedule: Schedule.exponential(Duration.seconds(retrySeconds))
  })
  const waiting = new Map<FileId, Deferred.Deferred<void>>()

  const extract = (file: KeptFile) =>
    extraction.extract({ bytes: blobs.get(file.storageKey), size: file.bytes, filename: file.filename }).pipe(
      Effect.flatMap((read) => table.keepText(file.id, { ...read, extractor: extraction.version })),
      Effect.catchTag("ExtractionFailed", ({ message }) => table.keepFailure(file.id, message))
    )

  const work = Effect.fnUntraced(function* (fileId: FileId, attempts: number) {
    const file = yield* table.unread(fileId)
    if (file === undefined) return
    yield* attempts > attemptsMax ? table.keepFailure(fileId, gaveUp) : extract(file)
    const waiter = waiting.get(fileId)
    if (waiter !== undefined) yield* Deferred.succeed(waiter, undefined)
  })

  const worker = queue
    .take(({ fileId }, { attempts }) => work(fileId, attempts))
    .pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.andThen(
              Effect.logWarning("The text of a file could not be read yet", cause),
              Effect.sleep(Duration.seconds(restSeconds))
            )
      ),
      Effect.forever
    )
  yield* Effect.forEach(Array.from({ length: extractionsMax }), () => Effect.forkScoped(worker))

  /** Asks for a file's text, together with whatever else the current transaction does. */
  const offer = (fileId: FileId) =>
    queue
      .offer({ fileId }, { id: fileId })
      .pipe(Effect.asVoid, Effect.catchTag("PersistedQueueError", sqlFailure))

  /** Completes when `isDone` finds the text read, or found unreadable. */
  const wait = <E>(fileId: FileId, isDone: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const done = Deferred.makeUnsafe<void>()
        waiting.set(fileId, done)
        return done
      }),
      (done) =>
        Effect.gen(function* () {
          while (!(yield* isDone)) {
            yield* Deferred.await(done).pipe(Effect.timeoutOption(Duration.seconds(lookSeconds)))
          }
        }),
      () => Effect.sync(() => waiting.delete(fileId))
    )

  return { offer, wait }
})

export type TextJobs = Effect.Success<ReturnType<typeof makeTextJobs>>
