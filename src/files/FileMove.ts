import { Effect, Option, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { StorageFailed } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { openCopySession } from "../sql/CopySession.ts"
import { Database } from "../sql/Database.ts"
import { holdMaintenance } from "../sql/MaintenanceLock.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import type { Blobs } from "./blobs/Blobs.ts"
import { makeTally } from "./blobs/Pieces.ts"
import { makeBlobsOf } from "./BlobStore.ts"
import { makeStoreBinding, requireStopped } from "./StoreBinding.ts"

/** Files that one statement lists, and files that are copied at once. */
const pageFiles = 200
const copiesAtOnceMax = 4
/** Blobs of the old store that are removed at once. */
const removalsAtOnceMax = 8
/** Failed files after which a run gives up, and those that a message names. */
const failuresMax = 100
const namedMax = 5

/** The files can't be moved now, or not all of them. `message` is for the operator and says what to do. */
class FileMoveRefused extends Schema.TaggedError<FileMoveRefused>()("FileMoveRefused", {
  message: Schema.String
}) {}

/** Adds to the number of finished files or blobs. */
export type Advance = (files: number) => Effect.Effect<void>

const refuse = (message: string) => Effect.fail(new FileMoveRefused({ message }))

const State = Schema.Struct({
  databaseId: Schema.String,
  storeId: Schema.NullOr(Schema.String),
  oldStorePlace: Schema.NullOr(Schema.String),
  newStoreId: Schema.String
})
type State = typeof State.Type
const Count = Schema.Struct({ files: Schema.Int })
const MovedFile = Schema.Struct({
  id: Schema.String,
  storageKey: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.Uint8Array
})
type MovedFile = typeof MovedFile.Type

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)

const wrong = (why: string) => new StorageFailed({ operation: "get", cause: new Error(why) })

/** The two stores of the settings. */
const makeStores = Effect.gen(function* () {
  const { moveTo, store } = (yield* AppConfig).files
  if (moveTo === null) {
    return yield* refuse(
      "PARLEY_FILES_MOVE_TO isn't set. Set it to the store that the files are to be moved to, with the settings of that store."
    )
  }
  const from: Blobs = yield* makeBlobsOf(store)
  const to: Blobs = yield* makeBlobsOf(moveTo)
  return { from, to, kind: moveTo }
})

/**
 * The statements of a move. A copy is recorded in `file_copies` once it is verified. Files refer to their
 * copies once all copies are there.
 */
const makeMoveTable = Effect.fnUntraced(function* (to: Blobs) {
  const sql = yield* SqlClient.SqlClient

  const state = sql`SELECT database_id, store_id, old_store_place,
      encode(substr(sha256(convert_to(database_id || ${to.place}, 'UTF8')), 1, 16), 'hex')::uuid AS new_store_id
    FROM file_store_binding`.pipe(
    rowAs(State),
    orUnavailable,
    Effect.flatMap((row) =>
      row === undefined ? refuse("No service has started on this database yet.") : Effect.succeed(row)
    )
  )

  const stopped = requireStopped.pipe(sql.withTransaction, orUnavailable)

  /** Forgets copies in other stores, and those in the new one unless it still has its mark. */
  const forgetCopies = (storeId: string, isMarked: boolean) =>
    orUnavailable(sql`DELETE FROM file_copies WHERE store_id <> ${storeId}::uuid OR NOT ${isMarked}`)

  const uncopied = sql`FROM files WHERE NOT EXISTS (SELECT FROM file_copies WHERE file_id = files.id)`

  const left = sql`SELECT count(*)::float8 AS files ${uncopied}`.pipe(
    rowAs(Count),
    Effect.map((row) => row?.files ?? 0),
    orUnavailable
  )

  const uncopiedFiles = Stream.paginate("00000000-0000-0000-0000-000000000000", (after: string) =>
    sql`SELECT id, storage_key, bytes::float8 AS bytes, sha256 ${uncopied} AND id > ${after}::uuid
      ORDER BY id LIMIT ${pageFiles}`.pipe(
      rowsAs(MovedFile),
      orUnavailable,
      Effect.map((page) => {
        const last = page.length < pageFiles ? undefined : page.at(-1)
        return [page, Option.fromUndefinedOr(last?.id)] as const
      })
    )
  )

  const note = (id: string, storeId: string, key: string) =>
    orUnavailable(
      sql`INSERT INTO file_copies (file_id, store_id, storage_key) VALUES (${id}::uuid, ${storeId}::uuid, ${key})`
    )

  const forgetOld = orUnavailable(sql`UPDATE file_store_binding SET old_store_place = NULL`)
  return { state, stopped, forgetCopies, left, uncopiedFiles, note, forgetOld }
})

type MoveTable = Effect.Success<ReturnType<typeof makeMoveTable>>

/** Makes all files and the database refer to the new store at once. Returns the number of files. */
const switchOver = Effect.fnUntraced(function* (table: MoveTable, from: Blobs, to: Blobs, storeId: string) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  return yield* Effect.gen(function* () {
    yield* requireStopped
    const late = yield* table.left
    if (late > 0) {
      return yield* refuse(
        `A service ran meanwhile and stored ${late} files, so nothing was switched. Run this command again.`
      )
    }
    const moved = yield* sql`WITH moved AS (
        UPDATE files SET storage_key = copy.storage_key FROM file_copies AS copy WHERE copy.file_id = files.id RETURNING 1
      ) SELECT count(*)::float8 AS files FROM moved`.pipe(rowAs(Count))
    yield* sql`DELETE FROM file_copies`
    yield* sql`UPDATE file_store_binding SET store_id = ${storeId}::uuid, store_place = ${to.place}, old_store_place = ${from.place}`
    yield* audit.record({
      action: "file.move",
      target: { id: null, name: to.place },
      organization: null,
      details: { from: from.place }
    })
    return moved?.files ?? 0
  }).pipe(sql.withTransaction, orUnavailable)
})

/** The ids in a store. A store that is a part of the database has the database's id. */
const markOf = (blobs: Blobs, { databaseId }: State) =>
  blobs.mark === null ? Effect.succeed({ store: databaseId, database: databaseId }) : blobs.mark.read

/** True if the database refers to this store. */
const isCurrent = (blobs: Blobs, state: State) =>
  Effect.map(
    markOf(blobs, state),
    ({ database, store }) => database === state.databaseId && store === state.storeId
  )

/**
 * Binds the new store to the database, so that no other database takes it, and returns its id; null if it
 * already has the files.
 */
const claim = Effect.fnUntraced(function* (table: MoveTable, from: Blobs, to: Blobs) {
  const state = yield* table.state
  if (yield* isCurrent(to, state)) return null
  yield* (yield* makeStoreBinding(from)).examine
  if (state.oldStorePlace === to.place) {
    return yield* refuse(
      `The bytes of the last move are still in ${to.place}. Erase them first: \`parley file move --erase-old\` with the settings of that move.`
    )
  }
  yield* to.check
  const found = yield* markOf(to, state)
  if (found.database !== null && found.database !== state.databaseId) {
    return yield* refuse(
      `${to.place} holds the files of another database (id ${found.database}). Give this one a bucket, prefix or directory of its own.`
    )
  }
  if (found.database === null && Option.isSome(yield* Stream.runHead(to.olderThan(0)))) {
    return yield* refuse(`${to.place} already holds files of an unknown origin. Name an empty place.`)
  }
  const storeId = found.store ?? state.newStoreId
  yield* table.forgetCopies(storeId, found.database !== null)
  yield* to.mark?.write({ store: storeId, database: state.databaseId }) ?? Effect.void
  return storeId
})

/**
 * Copies one file, reads the copy back and compares it with the upload. The copy stays if its record may have
 * been written.
 */
const copyFile = Effect.fnUntraced(function* (
  table: MoveTable,
  from: Blobs,
  to: Blobs,
  storeId: string,
  file: MovedFile
) {
  const copy = yield* to.put(from.get(file.storageKey))
  yield* Effect.gen(function* () {
    if (copy.bytes !== file.bytes || !sameBytes(copy.sha256, file.sha256)) {
      return yield* wrong("its bytes are no longer those that were uploaded")
    }
    const tally = makeTally()
    yield* Stream.runForEach(to.get(copy.key), (piece) => Effect.sync(() => tally.add(piece)))
    if (!sameBytes(tally.total().sha256, file.sha256)) return yield* wrong("the copy has other bytes")
    yield* table.note(file.id, storeId, copy.key)
  }).pipe(Effect.tapErrorTag("StorageFailed", () => Effect.ignore(to.remove(copy.key))))
})

const makeCopying = (table: MoveTable, from: Blobs, to: Blobs, storeId: string) =>
  Effect.fn("FileMove.run")(function* (advance: Advance) {
    const failed = yield* table.uncopiedFiles.pipe(
      Stream.mapEffect(
        (file) =>
          copyFile(table, from, to, storeId, file).pipe(
            Effect.as(null),
            Effect.catchTag("StorageFailed", ({ message }) => Effect.succeed(`${file.id} (${message})`)),
            Effect.tap(() => advance(1))
          ),
        { concurrency: copiesAtOnceMax }
      ),
      Stream.filter((problem) => problem !== null),
      Stream.take(failuresMax),
      Stream.runCollect
    )
    if (failed.length > 0) {
      return yield* refuse(
        `${failed.length} files could not be copied, so the files stay in ${from.place}: ${failed.slice(0, namedMax).join("; ")}. Mend or ` +
          "delete those files, and run the command again. It keeps the copies that were made."
      )
    }
    return yield* switchOver(table, from, to, storeId)
  })

/** Fails unless the files have left `from`, and its bytes belong to this database. */
const requireMoved = Effect.fnUntraced(function* (table: MoveTable, from: Blobs, to: Blobs) {
  const state = yield* table.state
  if (!(yield* isCurrent(to, state))) {
    return yield* refuse(
      "No move of the files with these settings is finished: run `parley file move` first."
    )
  }
  if ((yield* markOf(from, state)).database !== state.databaseId) {
    return yield* refuse(`${from.place} doesn't belong to this database, so nothing is removed there.`)
  }
})

const makeErasure = (table: MoveTable, from: Blobs, to: Blobs) =>
  Effect.fn("FileMove.erase")(function* (advance: Advance) {
    yield* requireMoved(table, from, to)
    let removed = 0
    const remove = (key: string) =>
      from.remove(key).pipe(
        Effect.andThen(from.trash.take(key)),
        Effect.andThen(advance(1)),
        Effect.tap(() => Effect.sync(() => void removed++))
      )
    yield* Stream.runDrain(Stream.mapEffect(from.olderThan(0), remove, { concurrency: removalsAtOnceMax }))
    yield* from.sweepLeftovers(0)
    yield* table.forgetOld
    return removed
  })

/**
 * Moves all files from the store of PARLEY_FILES_STORE to that of PARLEY_FILES_MOVE_TO, while no service
 * runs. Copies and verifies each file, and then switches all files at once.
 *
 * Until the switch nothing changes for a service, and the next run keeps the copies of an interrupted run.
 * The old store keeps its bytes. Until the scope closes, no backup, restore or other move runs.
 */
export const makeFileMove = Effect.gen(function* () {
  const { from, kind, to } = yield* makeStores
  const { address } = yield* Database
  yield* holdMaintenance(yield* openCopySession(address), "parley file move")
  const table = yield* makeMoveTable(to)
  return {
    from: from.place,
    to: to.place,
    kind,
    /**
     * Fails while a service runs. Returns the number of files to copy, and `run`, which returns the number of
     * moved files.
     */
    begin: Effect.gen(function* () {
      yield* table.stopped
      const storeId = yield* claim(table, from, to)
      if (storeId === null) return { files: 0, run: () => Effect.succeed(0) }
      return { files: yield* table.left, run: makeCopying(table, from, to, storeId) }
    }),
    /** The number of blobs that a finished move has left in the old store. */
    countOld: Effect.andThen(requireMoved(table, from, to), Stream.runCount(from.olderThan(0))),
    /** Removes those blobs, and returns their number. */
    eraseOld: makeErasure(table, from, to)
  }
})
