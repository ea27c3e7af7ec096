import { type ExtractedText, readingsPerUserMax, TextExtraction } from "../documents/TextExtraction.ts"
import { FileId, UserId } from "../domain/Ids.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { BlobStore } from "./BlobStore.ts"
import type { FileTable, KeptFile } from "./FileTable.ts"
import { Cause, Deferred, Duration, Effect, Schedule, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"

/** How often a job may break off, because its process died or the store was away, before the file counts as unreadable. */
export const attemptsMax = 5
/** How often an upload looks whether another process has read its text. */
const lookSeconds = 1
/** How often a process looks for users whose next file nobody queued, because a process was killed or the database away. */
const reviewSeconds = 30

const gaveUp = "The text of the file could not be read, though it was tried several times."

/** Jobs of before there were turns don't name the user. */
const Job = Schema.Struct({ fileId: FileId, userId: Schema.optionalKey(UserId) })
type Job = typeof Job.Type

/**
 * Reads the texts of files, for as long as the scope is open: in this process or, should it end, in another one or a later
 * one. A file is read by one process at a time, and counts as unreadable when that broke off `attemptsMax` times.
 *
 * The queue is in the order of arrival, and holds only a few files of each user: the end of one lets the user's next one in,
 * behind those of the others. So users take turns. Short plain texts are read at once, and never get there.
 */
export const makeTextJobs = Effect.fnUntraced(function* (table: FileTable) {
  const { extractionsMax } = (yield* AppConfig).files
  const queuedMax = readingsPerUserMax(extractionsMax)
  const sql = yield* SqlClient.SqlClient
  const turns = yield* makeReadingTurns
  const blobs = yield* BlobStore
  const extraction = yield* TextExtraction
  const queue = yield* makeJobQueue({
    name: queueName,
    schema: Job,
    // The attempt after the last one only writes down that there will be no other.
    attemptsMax: attemptsMax + 1,
    brokenOff: "The text of a file could not be read yet"
  })
  const waiting = new Map<FileId, Deferred.Deferred<void>>()

  const keepText = (id: FileId, read: ExtractedText) =>
    table.keepText(id, { ...read, extractor: extraction.version })

  const extract = ({ bytes, filename, id, storageKey, userId }: KeptFile) =>
    extraction.extract({ user: userId, bytes: blobs.get(storageKey), size: bytes, filename }).pipe(
      Effect.flatMap((read) => keepText(id, read)),
      Effect.catchTag("ExtractionFailed", ({ message }) => table.keepFailure(id, message))
    )

  const lockAndOffer = (userId: UserId, except: FileId | null) =>
    turns.lock(userId).pipe(Effect.andThen(offerNext(userId, except)), sql.withTransaction)

  /** Queues the user's next file, in a transaction that has the user's lock. `except` doesn't count: it is at its end. */
  const offerNext = Effect.fnUntraced(function* (userId: UserId, except: FileId | null) {
    const fileId = yield* turns.next(userId, queuedMax, except)
    if (fileId !== undefined) yield* queue.offer(fileId, { fileId, userId })
  })

  const read = Effect.fnUntraced(function* (fileId: FileId, attempts: number) {
    const file = yield* table.unread(fileId)
    if (file === undefined) return
    yield* attempts > attemptsMax ? table.keepFailure(fileId, gaveUp) : extract(file)
    const waiter = waiting.get(fileId)
    if (waiter !== undefined) yield* Deferred.succeed(waiter, undefined)
  })

  const work = Effect.fnUntraced(function* ({ fileId, userId }: Job, attempts: number) {
    const moveUp = userId === undefined ? Effect.void : lockAndOffer(userId, fileId)
    yield* read(fileId, attempts).pipe(
      // One that breaks off is tried again later, and keeps no other waiting.
      Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.ignore(moveUp)))
    )
    yield* moveUp
  })

  /** What other processes left behind. */
  const offerWaiting = Effect.gen(function* () {
    for (const { userId } of yield* turns.usersWaiting(queuedMax)) yield* lockAndOffer(userId, null)
  })

  yield* queue.work(extractionsMax, work)

  yield* offerWaiting.pipe(
    Effect.catchCause((cause) => Effect.logWarning("Files to be read could not be looked for", cause)),
    Effect.repeat(Schedule.spaced(Duration.seconds(reviewSeconds))),
    Effect.forkScoped
  )

  /** The text of a file that is still to be stored, where it can be had at once. */
  const plainText = ({ bytes, filename, storageKey }: Pick<KeptFile, "bytes" | "filename" | "storageKey">) =>
    extraction
      .plainText({ bytes: blobs.get(storageKey), size: bytes, filename })
      .pipe(Effect.catchTag("StorageFailed", () => Effect.succeed(null)))

  /** Keeps the text of a new file or asks for it, in the transaction that stores the file. */
  const accept = Effect.fnUntraced(function* (file: KeptFile, text: ExtractedText | null) {
    if (text === null) {
      yield* offerNext(file.userId, null)
      return file
    }
    yield* keepText(file.id, text)
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
            yield* Deferred.await(done).pipe(Effect.timeoutOption(Duration.seconds(lookSeconds)))
          }
        }),
      () => Effect.sync(() => waiting.delete(fileId))
    )

  return { plainText, accept, wait }
})

export type TextJobs = Effect.Success<ReturnType<typeof makeTextJobs>>

/** Table of the queue; migrations make it, and the sweep looks into it. */
export const jobsTable = "file_jobs"
const queueName = "texts"

/** Users whose next files one look finds. */
const usersMax = 100

const Ids = Schema.Array(Schema.Struct({ id: FileId }))
const Owners = Schema.Array(Schema.Struct({ userId: UserId }))

/**
 * Which file of a user is read next. The queue is in the order of arrival, and holds only a few jobs of each user, so that
 * users take turns; a file without a job waits.
 */
const makeReadingTurns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const waiting = sql`files.status = 'uploaded'
    AND NOT EXISTS (SELECT FROM ${sql(jobsTable)} AS own WHERE own.id = files.id::text AND own.queue_name = ${queueName})`

  /** The user's jobs but those that broke off and rest. The table holds few that are pending. */
  const jobsOf = (user: Statement.Fragment) =>
    sql`SELECT count(*) FROM ${sql(jobsTable)} AS job
      WHERE job.queue_name = ${queueName} AND job.state = 'pending' AND job.visible_at <= now()
        AND job.element::jsonb ->> 'userId' = ${user}::text`

  /** Puts transactions about one user's files in order. Storing a file takes the same lock. */
  const lock = (userId: UserId) =>
    sql`SELECT FROM file_usage WHERE user_id = ${userId}::uuid FOR UPDATE`.pipe(Effect.asVoid)

  /**
   * The user's oldest waiting file, unless there are `jobsMax` jobs of the user besides that for `except`. The transaction has
   * the user's lock.
   */
  const next = (userId: UserId, jobsMax: number, except: FileId | null) =>
    sql`SELECT id FROM files
      WHERE user_id = ${userId}::uuid AND ${waiting}
        AND (${jobsOf(sql`${userId}`)} AND job.id IS DISTINCT FROM ${except}) < ${jobsMax}
      ORDER BY id LIMIT 1`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Ids)),
      Effect.map(([row]) => row?.id)
    )

  /** Some users who have waiting files, and fewer than `jobsMax` jobs. */
  const usersWaiting = (jobsMax: number) =>
    sql`SELECT user_id FROM (SELECT DISTINCT user_id FROM files WHERE ${waiting}) AS found
      WHERE (${jobsOf(sql`found.user_id`)}) < ${jobsMax} LIMIT ${usersMax}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Owners))
    )

  return { lock, next, usersWaiting }
})
