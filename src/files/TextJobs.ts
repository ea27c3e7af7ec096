import { Deferred, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ExtractedText, readingsPerUserMax, TextExtraction } from "../documents/TextExtraction.ts"
import { ExtractionFailed } from "../domain/Errors.ts"
import { FileId, UserId } from "../domain/Ids.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { BlobStore } from "./BlobStore.ts"
import type { FileTable, KeptFile } from "./FileTable.ts"

/** The table of the queue. */
export const jobsTable = "file_jobs"
/** Seconds between two checks of an upload if another process has read its text. */
const waitLookSeconds = 1
/**
 * Interval of the checks for files without a job, which a killed process or an unavailable database may have
 * left.
 */
const lookSeconds = 30

const gaveUp = "The text of the file could not be read, though it was tried several times."

/** The text of a file to store, or the reason why it can't be read; null if it must still be read. */
export type KnownText = ExtractedText | ExtractionFailed | null

const TextJob = Schema.Struct({ fileId: FileId, userId: UserId })

/**
 * Reads the texts of files until the scope closes. A file is read by one process at a time, and counts as
 * unreadable after too many interrupted attempts. Users take turns. Short plain texts are read at once, and
 * are never queued.
 */
export const makeTextJobs = Effect.fnUntraced(function* (table: FileTable) {
  const { extractionsMax } = (yield* AppConfig).files
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const extraction = yield* TextExtraction
  const waiting = new Map<FileId, Deferred.Deferred<void>>()

  const keepText = (id: FileId, read: ExtractedText) =>
    table.keepText(id, { ...read, extractor: extraction.version })

  const extract = ({ bytes, filename, id, storageKey, userId }: KeptFile) =>
    extraction.extract({ user: userId, bytes: blobs.get(storageKey), size: bytes, filename }).pipe(
      Effect.flatMap((read) => keepText(id, read)),
      Effect.catchTag("ExtractionFailed", ({ message }) => table.keepFailure(id, message))
    )

  const notify = (id: FileId) =>
    Effect.suspend(() => {
      const waiter = waiting.get(id)
      return waiter === undefined ? Effect.void : Deferred.succeed(waiter, undefined)
    })

  const queue = yield* makeJobQueue({
    table: jobsTable,
    name: "texts",
    schema: TextJob,
    owner: "userId",
    perOwnerMax: readingsPerUserMax(extractionsMax),
    due: (userId) => sql`SELECT id::text AS id, user_id::text AS owner, id AS turn,
        jsonb_build_object('fileId', id, 'userId', user_id) AS job
      FROM files WHERE status = 'uploaded'
      ${userId === null ? sql.literal("") : sql`AND user_id = ${userId}::uuid`}`,
    lookSeconds,
    workers: extractionsMax,
    run: ({ fileId }) =>
      table.unread(fileId).pipe(
        Effect.flatMap((file) => (file === undefined ? Effect.void : extract(file))),
        Effect.andThen(notify(fileId))
      ),
    giveUp: ({ fileId }) => Effect.andThen(table.keepFailure(fileId, gaveUp), notify(fileId)),
    brokenOff: "The text of a file could not be read yet"
  })

  /** The text of a file to store, if it can be read at once. */
  const plainText = ({ bytes, filename, storageKey }: Pick<KeptFile, "bytes" | "filename" | "storageKey">) =>
    extraction
      .plainText({ bytes: blobs.get(storageKey), size: bytes, filename })
      .pipe(Effect.catchTag("StorageFailed", () => Effect.succeed(null)))

  /** Stores the text of a new file if it is known, or queues the file, in the transaction that stores it. */
  const accept = Effect.fnUntraced(function* (file: KeptFile, known: KnownText) {
    if (known === null) {
      yield* queue.offerNext(file.userId)
      return file
    }
    if (known instanceof ExtractionFailed) {
      yield* table.keepFailure(file.id, known.message)
      return { ...file, status: "error", statusDetails: known.message } satisfies KeptFile
    }
    yield* keepText(file.id, known)
    return { ...file, status: "processed" } satisfies KeptFile
  })

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
            yield* Deferred.await(done).pipe(Effect.timeoutOption(Duration.seconds(waitLookSeconds)))
          }
        }),
      () => Effect.sync(() => waiting.delete(fileId))
    )

  return { plainText, accept, wait }
})
