import { Context, Effect, Layer, Pull, Schema, type Scope, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { TextExtraction } from "../documents/TextExtraction.ts"
import {
  type DatabaseUnavailable,
  type FileTooLarge,
  FileNotFound,
  type StorageFailed,
  type TooManyUploads
} from "../domain/Errors.ts"
import type { FileId, UserId } from "../domain/Ids.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import type { StoredFile } from "../domain/StoredFile.ts"
import type { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { traced } from "../telemetry/traced.ts"
import { BlobStore } from "./BlobStore.ts"
import { makeFileRecorder } from "./FileRecorder.ts"
import { deleteBatch, sweepExpired, sweepFiles } from "./FileSweep.ts"
import {
  type ListFiles,
  makeFileTable,
  type TextBeginning,
  type TextSummary,
  type WantedText
} from "./FileTable.ts"
import { type IncomingFile, makeFileUploads } from "./FileUploads.ts"
import type { QuotaProblem } from "./UploadLimits.ts"

export type { ListFiles, TextSummary } from "./FileTable.ts"

/** Files that one statement hands over. */
const filesPerStepMax = 500

const Counted = Schema.Struct({ files: Schema.Int })

/**
 * The files of the users: bytes in the store, rows in the database, and the texts that are read from them.
 * Another user's file is treated as missing. A row exists only once all of its bytes are stored.
 */
export class FileStore extends Context.Service<
  FileStore,
  {
    /**
     * Stores a file and waits a while for its text; `status` is the result. A bound in the plan's `storage`
     * replaces that of the settings.
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
    /**
     * A page of files by the time of their upload. A list may continue after a file that was deleted since.
     */
    readonly list: (
      userId: UserId,
      query: ListFiles
    ) => Effect.Effect<
      { readonly files: ReadonlyArray<StoredFile>; readonly hasMore: boolean },
      DatabaseUnavailable
    >
    readonly get: (
      userId: UserId,
      id: FileId
    ) => Effect.Effect<StoredFile, FileNotFound | DatabaseUnavailable>
    /** Deletes the file, its text and its bytes. */
    readonly delete: (userId: UserId, id: FileId) => Effect.Effect<void, FileNotFound | DatabaseUnavailable>
    /** The number of files, including expired ones that are not deleted yet. */
    readonly countOf: (userId: UserId) => Effect.Effect<number, DatabaseUnavailable>
    /** Hands some files over to another user, and returns their number. */
    readonly handOverSome: (from: UserId, to: UserId) => Effect.Effect<number, DatabaseUnavailable>
    /** Deletes some files of a user with their texts and bytes, and returns their number. */
    readonly eraseSome: (userId: UserId) => Effect.Effect<number, DatabaseUnavailable>
    /**
     * The bytes from `start` (inclusive) to `end` (exclusive). Succeeds once the first bytes have been read.
     */
    readonly content: (
      userId: UserId,
      id: FileId,
      range: { readonly start: number; readonly end: number }
    ) => Effect.Effect<
      Stream.Stream<Uint8Array, StorageFailed>,
      FileNotFound | StorageFailed | DatabaseUnavailable,
      Scope.Scope
    >
    /**
     * Summaries of the texts of these files, without reading the texts. Files that don't belong to the user
     * are left out.
     */
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
      const sql = yield* SqlClient.SqlClient
      const blobs = yield* BlobStore
      const record = yield* makeFileRecorder
      const table = yield* makeFileTable
      const { discard, upload } = yield* makeFileUploads(table)
      yield* sweepFiles
      yield* sweepExpired

      const find = (userId: UserId, id: FileId) =>
        Effect.flatMap(orUnavailable(table.find(userId, id)), (file) =>
          file === undefined ? Effect.fail(new FileNotFound({ param: "file_id" })) : Effect.succeed(file)
        )

      const list = Effect.fn("FileStore.list")(function* (userId: UserId, query: ListFiles) {
        const rows = yield* orUnavailable(table.page(userId, query))
        return { files: rows.slice(0, query.limit), hasMore: rows.length > query.limit }
      })

      const get = Effect.fn("FileStore.get")((userId: UserId, id: FileId) => find(userId, id))

      const remove = Effect.fn("FileStore.delete")(function* (userId: UserId, id: FileId) {
        const removed = yield* table.remove(userId, id).pipe(
          Effect.tap((row) =>
            row === undefined ? Effect.void : record("file.delete", { id, userId, filename: row.filename })
          ),
          sql.withTransaction,
          orUnavailable
        )
        if (removed === undefined) return yield* new FileNotFound({ param: "file_id" })
        yield* discard(removed.storageKey)
      }, Effect.uninterruptible)

      const content = Effect.fn("FileStore.content")(function* (
        userId: UserId,
        id: FileId,
        range: { readonly start: number; readonly end: number }
      ) {
        const file = yield* find(userId, id)
        return yield* opened(blobs.get(file.storageKey, range))
      })

      const summaries = traced("FileStore.summaries")(
        Effect.fnUntraced(function* (userId: UserId, ids: ReadonlyArray<FileId>) {
          return ids.length === 0 ? [] : yield* orUnavailable(table.summaries(userId, ids))
        })
      )

      const beginnings = traced("FileStore.beginnings")(
        Effect.fnUntraced(function* (userId: UserId, wanted: ReadonlyArray<WantedText>) {
          return wanted.length === 0 ? [] : yield* orUnavailable(table.beginnings(userId, wanted))
        })
      )

      return FileStore.of({
        upload,
        list,
        get,
        delete: remove,
        content,
        summaries,
        beginnings,
        ...(yield* makeOwnerChange)
      })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

/**
 * The same bytes, once the first have been read. A missing file or store fails here and not in the middle of
 * the stream.
 */
const opened = Effect.fnUntraced(function* (bytes: Stream.Stream<Uint8Array, StorageFailed>) {
  const pull = yield* Stream.toPull(bytes)
  const first = yield* Pull.catchDone(pull, () => Effect.succeed([]))
  return first.length === 0
    ? Stream.empty
    : Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
})

/** The ways in which files leave a user who is deleted. */
const makeOwnerChange = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const services = yield* Effect.context<SqlClient.SqlClient | BlobStore>()

  const countOf = Effect.fn("FileStore.countOf")(function* (userId: UserId) {
    const row = yield* sql`SELECT count(*)::int AS files FROM files WHERE user_id = ${userId}`.pipe(
      rowAs(Counted)
    )
    return row?.files ?? 0
  }, orUnavailable)

  /** Hands some files over to another user, regardless of that user's quota. */
  const handOverSome = Effect.fn("FileStore.handOverSome")(function* (from: UserId, to: UserId) {
    const row = yield* sql`WITH moved AS (
        UPDATE files SET user_id = ${to} WHERE id IN (
          SELECT id FROM files WHERE user_id = ${from} ORDER BY id LIMIT ${filesPerStepMax} FOR UPDATE SKIP LOCKED
        ) RETURNING bytes
      ), counted AS (
        SELECT count(*)::int AS files, coalesce(sum(bytes), 0)::bigint AS bytes FROM moved
      ), freed AS (
        UPDATE file_usage SET files = file_usage.files - counted.files, bytes = file_usage.bytes - counted.bytes
        FROM counted WHERE user_id = ${from}
      ), taken AS (
        INSERT INTO file_usage (user_id, files, bytes) SELECT ${to}::uuid, files, bytes FROM counted WHERE files > 0
        ON CONFLICT (user_id) DO UPDATE
          SET files = file_usage.files + excluded.files, bytes = file_usage.bytes + excluded.bytes
      )
      SELECT files FROM counted`.pipe(rowAs(Counted))
    return row?.files ?? 0
  }, orUnavailable)

  const eraseSome = Effect.fn("FileStore.eraseSome")(function* (userId: UserId) {
    const erased = yield* deleteBatch(sql`user_id = ${userId}`).pipe(Effect.provideContext(services))
    if (erased === 0)
      yield* orUnavailable(sql`DELETE FROM file_usage WHERE user_id = ${userId} AND files = 0`)
    return erased
  })

  return { countOf, handOverSome, eraseSome }
})
