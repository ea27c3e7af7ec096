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
import type { StoreKind } from "./blobs/PairedBlobs.ts"
import { makeTally } from "./blobs/Pieces.ts"
import { makeBlobsOf } from "./BlobStore.ts"
import { makeStoreBinding, silenceSeconds } from "./StoreBinding.ts"

/** Files that one statement asks for, and that are copied at once. */
const pageFiles = 200
const copiesAtOnceMax = 4
/** Blobs of the old store that are removed at once. */
const removalsAtOnceMax = 8
/** Files that could not be moved, after which a run gives up; and those that a message names. */
const failuresMax = 100
const namedMax = 5

/** The files can't be moved now, or not all of them. `message` is for the operator and says what to do. */
class FileMoveRefused extends Schema.TaggedError<FileMoveRefused>()("FileMoveRefused", {
  message: Schema.String
}) {}

/** Adds to what is done. */
export type Advance = (files: number) => Effect.Effect<void>

const refuse = (message: string) => Effect.fail(new FileMoveRefused({ message }))

const State = Schema.Struct({
  databaseId: Schema.String,
  generation: Schema.Int,
  storeKind: Schema.NullOr(Schema.String),
  oldStorePlace: Schema.NullOr(Schema.String),
  isMoved: Schema.Boolean,
  newStoreId: Schema.String
})
const Replica = Schema.Struct({ location: Schema.String })
const Count = Schema.Struct({ files: Schema.Int })
const MovedFile = Schema.Struct({
  id: Schema.String,
  filename: Schema.String,
  storageKey: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.Uint8Array
})
type MovedFile = typeof MovedFile.Type

const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.from(one).equals(other)

const wrong = (why: string) => new StorageFailed({ operation: "get", cause: new Error(why) })

/** The two stores of a move, each by itself. */
const makeStores = Effect.gen(function* () {
  const { moveTo, store } = (yield* AppConfig).files
  if (moveTo === null) {
    return yield* refuse(
      "PARLEY_FILES_MOVE_TO isn't set. Set it to the store that the files are to be moved to, with the settings of that store, for every " +
        "process of the service as well as here, and restart those."
    )
  }
  const from: Blobs = yield* makeBlobsOf(store)
  const to: Blobs = yield* makeBlobsOf(moveTo)
  return { from, to, kind: moveTo }
})

const makeMoveTable = Effect.fnUntraced(function* (kind: StoreKind, to: Blobs) {
  const sql = yield* SqlClient.SqlClient

  const state =
    sql`SELECT database_id, generation, store_kind, old_store_place, moved_at IS NOT NULL AS is_moved,
      encode(substr(sha256(convert_to(database_id || ${to.place}, 'UTF8')), 1, 16), 'hex')::uuid AS new_store_id
    FROM file_store_binding`.pipe(rowAs(State), orUnavailable)

  /** Processes that would not find the files in the new store. */
  const unprepared = sql`SELECT location FROM file_store_replicas
    WHERE move_to IS DISTINCT FROM ${kind} AND seen_at > clock_timestamp() - make_interval(secs => ${silenceSeconds})`.pipe(
    rowsAs(Replica)
  )

  /** From this moment on, every process puts new files into the new store. */
  const begin = (storeId: string, from: Blobs) =>
    Effect.gen(function* () {
      // No process may join between the look and the change.
      yield* sql`LOCK TABLE file_store_replicas IN SHARE ROW EXCLUSIVE MODE`
      const [other] = yield* unprepared
      if (other !== undefined) {
        return yield* refuse(
          `A running process keeps its files in ${other.location} and doesn't have PARLEY_FILES_MOVE_TO=${kind}: restart it with the settings of ` +
            `both stores. A process that was killed counts for ${silenceSeconds} seconds.`
        )
      }
      yield* sql`UPDATE file_store_binding SET generation = generation + 1, store_kind = ${kind}, store_id = ${storeId}::uuid,
        store_place = ${to.place}, old_store_place = ${from.place}, moved_at = NULL`
      yield* sql`UPDATE file_store_replicas SET directory = ${storeId}::uuid, location = ${to.place}`
      const audit = yield* makeAuditRecorder
      yield* audit.record({
        action: "file.move",
        target: { id: null, name: to.place },
        organization: null,
        details: { from: from.place }
      })
    }).pipe(sql.withTransaction)

  const left = sql`SELECT count(*)::float8 AS files FROM files
    WHERE store_generation < (SELECT generation FROM file_store_binding)`.pipe(
    rowAs(Count),
    Effect.map((row) => row?.files ?? 0),
    orUnavailable
  )

  const page = (after: string) =>
    sql`SELECT id, filename, storage_key, bytes::float8 AS bytes, sha256 FROM files
      WHERE store_generation < (SELECT generation FROM file_store_binding) AND id > ${after}::uuid
      ORDER BY id LIMIT ${pageFiles}`.pipe(rowsAs(MovedFile), orUnavailable)

  /** False where the file was deleted meanwhile. */
  const switchTo = ({ id, storageKey }: MovedFile, key: string) =>
    sql`UPDATE files SET storage_key = ${key}, store_generation = (SELECT generation FROM file_store_binding)
      WHERE id = ${id}::uuid AND storage_key = ${storageKey} RETURNING id`.pipe(
      Effect.map((rows) => rows.length > 0),
      orUnavailable
    )

  const finish = orUnavailable(
    sql`UPDATE file_store_binding SET moved_at = coalesce(moved_at, clock_timestamp())`
  )
  const forgetOld = orUnavailable(sql`UPDATE file_store_binding SET old_store_place = NULL, moved_at = NULL`)
  return { state, begin, left, page, switchTo, finish, forgetOld }
})

type MoveTable = Effect.Success<ReturnType<typeof makeMoveTable>>

/** Binds the new store to the database and begins the move, unless it has begun. */
const begin = Effect.fnUntraced(function* (table: MoveTable, from: Blobs, to: Blobs, kind: StoreKind) {
  const state = yield* table.state
  if (state === undefined) return yield* refuse("No service has started on this database yet.")
  if (state.storeKind === kind) return
  yield* (yield* makeStoreBinding(from)).examine
  if (state.oldStorePlace !== null) {
    return yield* refuse(
      `The bytes of the last move are still in ${state.oldStorePlace}. Erase them first: \`parley file move --erase-old\` with the settings of that move.`
    )
  }
  yield* to.check
  const id = { store: state.databaseId, database: state.databaseId }
  const found = to.mark === null ? id : yield* to.mark.read
  if (found.database !== null && found.database !== state.databaseId) {
    return yield* refuse(
      `${to.place} holds the files of another database (id ${found.database}). Give this one a bucket, prefix or directory of its own.`
    )
  }
  const isEmpty = Option.isNone(yield* Stream.runHead(to.olderThan(0)))
  if (found.database === null && !isEmpty) {
    return yield* refuse(`${to.place} already holds files of an unknown origin. Name an empty place.`)
  }
  const storeId = found.store ?? state.newStoreId
  yield* to.mark?.write({ store: storeId, database: state.databaseId }) ?? Effect.void
  yield* orUnavailable(table.begin(storeId, from))
})

/** Copies one file, compares what has arrived with what was uploaded, and has the database name the copy. */
const moveFile = Effect.fnUntraced(function* (table: MoveTable, from: Blobs, to: Blobs, file: MovedFile) {
  const copy = yield* to.put(from.get(file.storageKey))
  const clean = Effect.ignore(to.remove(copy.key))
  return yield* Effect.gen(function* () {
    if (copy.bytes !== file.bytes || !sameBytes(copy.sha256, file.sha256)) {
      return yield* wrong("its bytes are no longer those that were uploaded")
    }
    const tally = makeTally()
    yield* Stream.runForEach(to.get(copy.key), (piece) => Effect.sync(() => tally.add(piece)))
    if (!sameBytes(tally.total().sha256, file.sha256)) return yield* wrong("the copy has other bytes")
    if (!(yield* table.switchTo(file, copy.key))) yield* clean
  }).pipe(Effect.tapError(() => clean))
})

const makeMoving = (table: MoveTable, from: Blobs, to: Blobs) =>
  Effect.fn("FileMove.run")(function* (advance: Advance) {
    const failed: Array<string> = []
    let moved = 0
    const move = (file: MovedFile) =>
      moveFile(table, from, to, file).pipe(
        Effect.andThen(advance(1)),
        Effect.matchEffect({
          onFailure: (error) =>
            error._tag === "DatabaseUnavailable"
              ? Effect.fail(error)
              : Effect.sync(() => void failed.push(`${file.id} (${error.message})`)),
          onSuccess: () => Effect.sync(() => void moved++)
        })
      )
    let after = "00000000-0000-0000-0000-000000000000"
    while (failed.length < failuresMax) {
      const files = yield* table.page(after)
      yield* Effect.forEach(files, move, { concurrency: copiesAtOnceMax, discard: true })
      after = files.at(-1)?.id ?? after
      if (files.length < pageFiles) break
    }
    const left = yield* table.left
    if (left > 0) {
      return yield* refuse(
        `${moved} files were moved and ${left} are left, which stay readable where they are. Failed: ` +
          `${failed.slice(0, namedMax).join("; ")}. Mend or delete those files, and run the command again.`
      )
    }
    yield* table.finish
    return moved
  })

/** Fails while files may still be in the old store. */
const requireMoved = Effect.fnUntraced(function* (table: MoveTable, kind: StoreKind) {
  const state = yield* table.state
  if (state?.storeKind !== kind || !state.isMoved) {
    return yield* refuse(
      "No move of the files with these settings is finished: run `parley file move` first."
    )
  }
})

const makeErasure = (table: MoveTable, from: Blobs, kind: StoreKind) =>
  Effect.fn("FileMove.erase")(function* (advance: Advance) {
    yield* requireMoved(table, kind)
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
 * Moves all files from the store of PARLEY_FILES_STORE to that of PARLEY_FILES_MOVE_TO while the service runs. The database
 * says for each file where it is, so that the next run continues one that was killed. The old store keeps its bytes. While the
 * scope is open, no backup, restore or other move runs.
 */
export const makeFileMove = Effect.gen(function* () {
  const { from, kind, to } = yield* makeStores
  const { address } = yield* Database
  yield* holdMaintenance(yield* openCopySession(address), "parley file move")
  const table = yield* makeMoveTable(kind, to)
  return {
    from: from.place,
    to: to.place,
    kind,
    /** From now on new files go to the new store. The answer is how many are still in the old one. */
    begin: Effect.andThen(begin(table, from, to, kind), table.left),
    /** Moves those, and gives their number. */
    run: makeMoving(table, from, to),
    /** How many blobs a finished move has left in the old store. */
    countOld: Effect.andThen(requireMoved(table, kind), Stream.runCount(from.olderThan(0))),
    /** Removes those, and gives their number. */
    eraseOld: makeErasure(table, from, kind)
  }
})
