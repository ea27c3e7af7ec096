import { DateTime, Duration, Effect, Fiber, Option, Schedule, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { headBytes } from "../documents/Kind.ts"
import { TextExtraction } from "../documents/TextExtraction.ts"
import type { ExtractionFailed } from "../domain/Errors.ts"
import { FileId, type UserId } from "../domain/Ids.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import type { AboutFile, StoredFile } from "../domain/StoredFile.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import type { StoredBlob } from "./blobs/Blobs.ts"
import { BlobStore } from "./BlobStore.ts"
import { makeFileRecorder } from "./FileRecorder.ts"
import type { FileTable, NewFile } from "./FileTable.ts"
import { type KnownText, makeTextJobs } from "./TextJobs.ts"
import { bounded, makeUploadSlots, quotaOf, quotaProblem, type UserQuota } from "./UploadLimits.ts"

/** Seconds for which storing a row is retried while the database is unavailable. Then the upload fails. */
const insertSeconds = 5

/** Seconds for which a stored file waits for the result of reading its beginning, before it is queued. */
const earlyWaitSecondsMax = 1

/** A file that is being uploaded. */
export interface IncomingFile<E, R> {
  readonly bytes: Stream.Stream<Uint8Array, E, R>
  /** Runs once the bytes are stored, and before the file is visible. A failure leaves nothing behind. */
  readonly about: Effect.Effect<AboutFile, E, R>
}

/**
 * Finds out from the beginning of a file that it can't be read, while the rest arrives, until the scope
 * closes. `watch` collects the beginning from the passing bytes. `found` is null for a file that must still
 * be read.
 */
const makeEarlyReading = Effect.fnUntraced(function* (
  extraction: TextExtraction["Service"],
  user: UserId,
  waitSeconds: number
) {
  const scope = yield* Effect.scope
  const head = Buffer.allocUnsafe(headBytes)
  let filled = 0
  let reading: Fiber.Fiber<ExtractionFailed | null> | null = null

  const begin = Effect.suspend(() => extraction.unsupported({ user, head })).pipe(
    Effect.forkIn(scope),
    Effect.map((fiber) => {
      reading = fiber
    })
  )

  const watch = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.mapArrayEffect(bytes, (pieces) => {
      if (filled === headBytes) return Effect.succeed(pieces)
      for (const piece of pieces) {
        const taken = piece.subarray(0, headBytes - filled)
        head.set(taken, filled)
        filled += taken.length
      }
      return filled < headBytes ? Effect.succeed(pieces) : Effect.as(begin, pieces)
    })

  const found = Effect.suspend(() => (reading === null ? Effect.succeed(null) : Fiber.join(reading))).pipe(
    Effect.timeoutOption(Duration.seconds(Math.min(waitSeconds, earlyWaitSecondsMax))),
    Effect.map(Option.getOrNull)
  )

  return { watch, found }
})

/** The upload of files: within the limits, bytes first, then the row and its text. */
export const makeFileUploads = Effect.fnUntraced(function* (table: FileTable) {
  const { files: settings, http } = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  const blobs = yield* BlobStore
  const random = yield* SecureRandom.SecureRandom
  const extraction = yield* TextExtraction
  const jobs = yield* makeTextJobs(table)
  const record = yield* makeFileRecorder
  const takeSlot = makeUploadSlots(settings.uploadsPerUserMax, http.userWaitSeconds)
  const usualQuota = { filesMax: settings.filesPerUserMax, bytesMax: settings.bytesPerUserMax }

  /** Removes bytes that no row refers to. The sweep finds the rest. */
  const discard = (key: string) =>
    blobs
      .remove(key)
      .pipe(
        Effect.catch((error) =>
          Effect.logWarning(`The bytes of a file could not be removed yet: ${error.message}`)
        )
      )

  const insert = Effect.fnUntraced(
    function* (file: NewFile, quota: UserQuota, text: KnownText) {
      const found = yield* table.insert(file, quota)
      if (found !== undefined) {
        const { isNew, ...stored } = found
        if (isNew) yield* record("file.upload", stored)
        return yield* jobs.accept(stored, text)
      }
      const usage = yield* table.usage(file.userId)
      // Room may have become free between the two statements; the upload is refused anyway.
      const usedUp = { files: usage.files, bytes: quota.bytesMax + 1 }
      const problem = quotaProblem(usage, file.blob.bytes, quota) ?? quotaProblem(usedUp, 0, quota)
      return yield* problem === null ? Effect.die(new Error("There is room after all")) : Effect.fail(problem)
    },
    sql.withTransaction,
    orUnavailable
  )

  /** Makes the file visible. The bytes stay if the success is unknown. */
  const publish = Effect.fnUntraced(function* (
    userId: UserId,
    blob: StoredBlob,
    { expiresAfterSeconds, ...about }: AboutFile,
    quota: UserQuota,
    early: Effect.Effect<KnownText>
  ) {
    const id = FileId.make(yield* random.uuidV7())
    const createdAt = yield* DateTime.now
    const expiresAt =
      expiresAfterSeconds == null ? null : DateTime.add(createdAt, { seconds: expiresAfterSeconds })
    const file = { id, userId, ...about, blob, createdAt, expiresAt }
    const { bytes, key: storageKey } = blob
    const text = (yield* early) ?? (yield* jobs.plainText({ storageKey, bytes, filename: about.filename }))
    return yield* insert(file, quota, text).pipe(
      Effect.retry({
        schedule: Schedule.spaced("250 millis").pipe(Schedule.upTo({ duration: `${insertSeconds} seconds` })),
        while: (error) => error._tag === "DatabaseUnavailable"
      }),
      Effect.tapError((error) => (error._tag === "DatabaseUnavailable" ? Effect.void : discard(storageKey)))
    )
  }, Effect.uninterruptible)

  const receive = <E, R>(userId: UserId, { about, bytes }: IncomingFile<E, R>, quota: UserQuota) =>
    Effect.gen(function* () {
      yield* takeSlot(userId)
      const usage = yield* orUnavailable(table.usage(userId))
      const problem = quotaProblem(usage, 0, quota)
      if (problem !== null) return yield* problem
      const max = { fileBytes: settings.fileBytesMax, quotaBytes: quota.bytesMax - usage.bytes, quota }
      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const early = yield* makeEarlyReading(extraction, userId, settings.processWaitSeconds)
          const blob = yield* restore(blobs.put(early.watch(bounded(bytes, max))))
          const known = yield* restore(about).pipe(Effect.onError(() => discard(blob.key)))
          return yield* publish(userId, blob, known, quota, early.found)
        })
      )
    }).pipe(Effect.scoped)

  /** The file once its text was read or found unreadable, or in its current state after the wait. */
  const settled = Effect.fnUntraced(function* (file: StoredFile) {
    if (file.status !== "uploaded") return file
    let latest = file
    const look = Effect.gen(function* () {
      latest = (yield* table.find(file.userId, file.id)) ?? latest
      return latest.status !== "uploaded"
    })
    yield* jobs.wait(file.id, look).pipe(
      Effect.timeoutOption(Duration.seconds(settings.processWaitSeconds)),
      orUnavailable,
      // The file is stored, regardless of the result of the wait.
      Effect.ignore
    )
    return latest
  })

  const upload = <E, R>(userId: UserId, incoming: IncomingFile<E, R>, storage: PlanStorage | null = null) =>
    receive(userId, incoming, quotaOf(usualQuota, storage)).pipe(
      Effect.flatMap(settled),
      Effect.withSpan("FileStore.upload")
    )

  return { upload, discard }
})
