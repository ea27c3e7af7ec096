import { Context, DateTime, Duration, Effect, Layer, Pull, Schedule, type Scope, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../settings/AppConfig.ts"
import {
  type DatabaseUnavailable,
  type FileTooLarge,
  FileNotFound,
  type StorageFailed,
  type TooManyUploads
} from "../domain/Errors.ts"
import { FileId, type UserId } from "../domain/Ids.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import type { AboutFile, StoredFile } from "../domain/StoredFile.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { BlobStore, type StoredBlob } from "./BlobStore.ts"
import { sweepExpired, sweepFiles } from "./FileSweep.ts"
import {
  type ListFiles,
  makeFileTable,
  type NewFile,
  type TextBeginning,
  type TextSummary,
  type WantedText
} from "./FileTable.ts"
import { makeTextJobs } from "./TextJobs.ts"
import type { ExtractedText, TextExtraction } from "../documents/TextExtraction.ts"
import {
  bounded,
  makeUploadSlots,
  quotaOf,
  type QuotaProblem,
  quotaProblem,
  type UserQuota
} from "./UploadLimits.ts"

export type { ListFiles, TextSummary } from "./FileTable.ts"

/** How long the storing of a row is repeated while the database is away, before the upload counts as failed. */
const insertSeconds = 5

/** A file on its way in. */
export interface IncomingFile<E, R> {
  readonly bytes: Stream.Stream<Uint8Array, E, R>
  /** Asked for once the bytes are stored, and before anybody can see the file: what fails here leaves nothing behind. */
  readonly about: Effect.Effect<AboutFile, E, R>
}

/**
 * The files of the users: bytes in the store, rows in the database, and the texts that are read from them. Another user's
 * file is treated as missing. A row exists only once all of its bytes are stored.
 */
export class FileStore extends Context.Service<
  FileStore,
  {
    /**
     * Stores a file and waits a while for its text; `status` is the result. Where the user's plan bounds
     * `storage`, that holds in place of the settings.
     */
    readonly upload: <E, R>(
      userId: UserId,
      incoming: IncomingFile<E, R>,
      storage?: PlanStorage
    ) => Effect.Effect<
      StoredFile,
      E | FileTooLarge | QuotaProblem | TooManyUploads | StorageFailed | DatabaseUnavailable,
      R
    >
    /** One page, by the time of the upload. A list may continue after a file that was deleted since. */
    readonly list: (
      userId: UserId,
      query: ListFiles
    ) => Effect.Effect<
      { readonly files: ReadonlyArray<StoredFile>; readonly hasMore: boolean },
      FileNotFound | DatabaseUnavailable
    >
    readonly get: (
      userId: UserId,
      id: FileId
    ) => Effect.Effect<StoredFile, FileNotFound | DatabaseUnavailable>
    /** Deletes the file, its text and its bytes. */
    readonly delete: (userId: UserId, id: FileId) => Effect.Effect<void, FileNotFound | DatabaseUnavailable>
    /** The bytes from `start` (inclusive) to `end` (exclusive). The first ones are there when this succeeds. */
    readonly content: (
      userId: UserId,
      id: FileId,
      range: { readonly start: number; readonly end: number }
    ) => Effect.Effect<
      Stream.Stream<Uint8Array, StorageFailed>,
      FileNotFound | StorageFailed | DatabaseUnavailable,
      Scope.Scope
    >
    /** What is known of the texts of these files, without reading them; files that aren't this user's are absent. */
    readonly summaries: (
      userId: UserId,
      ids: ReadonlyArray<FileId>
    ) => Effect.Effect<ReadonlyArray<TextSummary>, DatabaseUnavailable>
    /** The beginnings of texts; files without a text, or of another user, are absent. */
    readonly beginnings: (
      userId: UserId,
      wanted: ReadonlyArray<WantedText>
    ) => Effect.Effect<ReadonlyArray<TextBeginning>, DatabaseUnavailable>
  }
>()("parley/files/FileStore") {
  static readonly layer: Layer.Layer<
    FileStore,
    never,
    BlobStore | TextExtraction | SqlClient.SqlClient | AppConfig
  > = Layer.effect(
    FileStore,
    Effect.gen(function* () {
      const { files: settings, http } = yield* AppConfig
      const sql = yield* SqlClient.SqlClient
      const blobs = yield* BlobStore
      const random = yield* SecureRandom.SecureRandom
      const table = yield* makeFileTable
      const jobs = yield* makeTextJobs(table)
      const takeSlot = makeUploadSlots(settings.uploadsPerUserMax, http.userWaitSeconds)
      const usualQuota = { filesMax: settings.filesPerUserMax, bytesMax: settings.bytesPerUserMax }
      yield* sweepFiles
      yield* sweepExpired

      /** What stays behind here is found by the sweep. */
      const discard = (key: string) =>
        blobs
          .remove(key)
          .pipe(
            Effect.catch((error) =>
              Effect.logWarning(`The bytes of a file could not be removed yet: ${error.message}`)
            )
          )

      const insert = Effect.fnUntraced(
        function* (file: NewFile, quota: UserQuota, text: ExtractedText | null) {
          const stored = yield* table.insert(file, quota)
          if (stored !== undefined) return yield* jobs.accept(stored, text)
          const usage = yield* table.usage(file.userId)
          // Room may have become free between the two statements; the upload is refused anyway.
          const usedUp = { files: usage.files, bytes: quota.bytesMax + 1 }
          const problem = quotaProblem(usage, file.blob.bytes, quota) ?? quotaProblem(usedUp, 0, quota)
          return yield* problem === null
            ? Effect.die(new Error("There is room after all"))
            : Effect.fail(problem)
        },
        sql.withTransaction,
        orUnavailable
      )

      /** Makes the file visible. The bytes stay where it is unknown whether that succeeded. */
      const publish = Effect.fnUntraced(function* (
        userId: UserId,
        blob: StoredBlob,
        { expiresAfterSeconds, ...about }: AboutFile,
        quota: UserQuota
      ) {
        const id = FileId.make(yield* random.uuidV7())
        const createdAt = yield* DateTime.now
        const expiresAt =
          expiresAfterSeconds == null ? null : DateTime.add(createdAt, { seconds: expiresAfterSeconds })
        const file: NewFile = { id, userId, ...about, blob, createdAt, expiresAt }
        const text = yield* jobs.plainText({
          storageKey: blob.key,
          bytes: blob.bytes,
          filename: about.filename
        })
        return yield* insert(file, quota, text).pipe(
          Effect.retry({
            schedule: Schedule.spaced("250 millis").pipe(
              Schedule.upTo({ duration: `${insertSeconds} seconds` })
            ),
            while: (error) => error._tag === "DatabaseUnavailable"
          }),
          Effect.tapError((error) => (error._tag === "DatabaseUnavailable" ? Effect.void : discard(blob.key)))
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
              const blob = yield* restore(blobs.put(bounded(bytes, max)))
              const known = yield* restore(about).pipe(Effect.onError(() => discard(blob.key)))
              return yield* publish(userId, blob, known, quota)
            })
          )
        }).pipe(Effect.scoped)

      /** The file once its text was read or found unreadable, or as it is when the wait is over. */
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
          // The file is there, whatever happens to the wait.
          Effect.ignore
        )
        return latest
      })

      const upload = <E, R>(
        userId: UserId,
        incoming: IncomingFile<E, R>,
        storage: PlanStorage | null = null
      ) =>
        receive(userId, incoming, quotaOf(usualQuota, storage)).pipe(
          Effect.flatMap(settled),
          Effect.withSpan("FileStore.upload")
        )

      const find = (userId: UserId, id: FileId, param = "file_id") =>
        Effect.flatMap(orUnavailable(table.find(userId, id)), (file) =>
          file === undefined ? Effect.fail(new FileNotFound({ param })) : Effect.succeed(file)
        )

      const list = Effect.fn("FileStore.list")(function* (userId: UserId, query: ListFiles) {
        if (query.after !== undefined && !isTimeOrdered(query.after))
          yield* find(userId, query.after, "after")
        const rows = yield* orUnavailable(table.page(userId, query))
        return { files: rows.slice(0, query.limit), hasMore: rows.length > query.limit }
      })

      const get = Effect.fn("FileStore.get")((userId: UserId, id: FileId) => find(userId, id))

      const remove = Effect.fn("FileStore.delete")(function* (userId: UserId, id: FileId) {
        const key = yield* orUnavailable(table.remove(userId, id))
        if (key === undefined) return yield* new FileNotFound({ param: "file_id" })
        yield* discard(key)
      }, Effect.uninterruptible)

      const content = Effect.fn("FileStore.content")(function* (
        userId: UserId,
        id: FileId,
        range: { readonly start: number; readonly end: number }
      ) {
        const file = yield* find(userId, id)
        return yield* opened(blobs.get(file.storageKey, range))
      })

      const summaries = Effect.fn("FileStore.summaries")(function* (
        userId: UserId,
        ids: ReadonlyArray<FileId>
      ) {
        return ids.length === 0 ? [] : yield* orUnavailable(table.summaries(userId, ids))
      })

      const beginnings = Effect.fn("FileStore.beginnings")(function* (
        userId: UserId,
        wanted: ReadonlyArray<WantedText>
      ) {
        return wanted.length === 0 ? [] : yield* orUnavailable(table.beginnings(userId, wanted))
      })

      return FileStore.of({ upload, list, get, delete: remove, content, summaries, beginnings })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/** Ids of version 7 hold the time of their creation, and mark a place in a list even when the file was deleted. */
const isTimeOrdered = (id: FileId): boolean => id[14] === "7"

/** The same bytes, of which the first are there: what is missing or unreachable fails here and not in the middle. */
const opened = Effect.fnUntraced(function* (bytes: Stream.Stream<Uint8Array, StorageFailed>) {
  const pull = yield* Stream.toPull(bytes)
  const first = yield* Pull.catchDone(pull, () => Effect.succeed([]))
  return first.length === 0
    ? Stream.empty
    : Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
})
