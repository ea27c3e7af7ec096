import { Clock, Duration, Effect, Option, Schedule, Schema, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { StorageFailed } from "../../domain/Errors.ts"
import { rowAs, rowsAs } from "../../sql/rows.ts"
import { type Blobs, roundTrip } from "./Blobs.ts"
import { ofLength, writeInPieces, makeTally } from "./Pieces.ts"

export const pieceBytes = 256 * 1024
const keyPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Pieces that are read ahead of the client. */
const piecesAheadMax = 2
/** Pieces that one statement deletes. */
const piecesPerDeleteMax = 256
/** Seconds after which a long put renews its time, so that the sweep doesn't take it for a leftover. */
const touchSeconds = 60
/** Attempts to delete the remains of a failed put; then they are left to the sweep. */
const cleanupRetriesMax = 3
const cleanupSeconds = 10
const keysPerPage = 500
/** The length of a blob that is being removed. */
const removedBytes = -1

const Blob = Schema.Struct({ bytes: Schema.NumberFromString })
const Piece = Schema.Struct({ data: Schema.Uint8Array })
const BlobKey = Schema.Struct({ key: Schema.String })
const Trashed = Schema.Struct({ key: Schema.String, since: Schema.Finite })

const failing =
  (operation: StorageFailed["operation"]) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, StorageFailed, R> =>
    Effect.mapError(effect, (cause) => new StorageFailed({ operation, cause }))

const missing = () =>
  new StorageFailed({ operation: "get", cause: new Error("The database holds no such bytes, or not all") })

/** Writes blobs, and removes them with their pieces. */
const makeWriting = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  /**
   * Removes a blob. First hides it by a length that no put completes, then deletes its pieces in steps, and
   * the row last. The sweep removes only blobs that never became complete.
   */
  const discard = Effect.fnUntraced(function* (key: string, which: "any" | "incomplete") {
    const marked = yield* sql`UPDATE file_blobs SET complete = false, bytes = ${removedBytes}
      WHERE key = ${key} AND (NOT complete OR ${which === "any"}) RETURNING key`
    if (marked.length === 0) return
    while (true) {
      const deleted = yield* sql`DELETE FROM file_blob_pieces WHERE key = ${key} AND position IN (
          SELECT position FROM file_blob_pieces WHERE key = ${key} LIMIT ${piecesPerDeleteMax}
        ) RETURNING position`
      if (deleted.length < piecesPerDeleteMax) break
    }
    yield* sql`DELETE FROM file_blobs WHERE key = ${key}`
  })

  // Only the last statement waits for the disk. It counts the pieces, so it notices a piece that a crash has
  // lost.
  const addPiece = (key: string, position: number, data: Uint8Array) =>
    sql`INSERT INTO file_blob_pieces (key, position, data)
      SELECT ${key}, ${position}, ${data} FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick`

  const complete = Effect.fnUntraced(function* (key: string, pieces: number, bytes: number) {
    const done =
      yield* sql`UPDATE file_blobs SET complete = true, bytes = ${bytes}, touched_at = clock_timestamp()
      WHERE key = ${key} AND bytes = 0 AND NOT complete AND (${pieces}::int, ${bytes}::bigint) = (
        SELECT count(*), coalesce(sum(octet_length(data)), 0) FROM file_blob_pieces WHERE key = ${key}
      ) RETURNING key`
    if (done.length === 0)
      return yield* Effect.fail(new Error("Some pieces were lost before the last was written"))
  })

  const write = <E, R>(key: string, bytes: Stream.Stream<Uint8Array, E, R>) =>
    Effect.gen(function* () {
      const tally = makeTally()
      let pieces = 0
      let touchedAt = yield* Clock.currentTimeMillis
      yield* failing("put")(sql`INSERT INTO file_blobs (key, bytes) VALUES (${key}, 0)`)
      const add = Effect.fnUntraced(function* (piece: Uint8Array) {
        tally.add(piece)
        yield* addPiece(key, pieces++, piece)
        const now = yield* Clock.currentTimeMillis
        if (now - touchedAt < touchSeconds * 1000) return
        touchedAt = now
        yield* sql`UPDATE file_blobs SET touched_at = clock_timestamp() WHERE key = ${key}`
      }, failing("put"))
      yield* writeInPieces(bytes, pieceBytes, add)
      const total = tally.total()
      yield* failing("put")(complete(key, pieces, total.bytes))
      return { key, ...total }
    })

  const cleanUp = (key: string) =>
    discard(key, "any").pipe(
      Effect.retry(Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: cleanupRetriesMax }))),
      Effect.timeoutOption(`${cleanupSeconds} seconds`),
      Effect.ignore
    )

  const put: Blobs["put"] = (bytes) =>
    Effect.flatMap(random.uuidV7(), (key) => Effect.onError(write(key, bytes), () => cleanUp(key)))

  return { put, discard }
})

/**
 * Bytes in PostgreSQL, in pieces. Each statement is a transaction of its own, so that no connection is held
 * while a client is waited for. A blob exists as soon as its row is `complete`.
 */
export const makePostgresBlobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { discard, put } = yield* makeWriting

  const piece = (key: string, position: number) =>
    sql`SELECT data FROM file_blob_pieces WHERE key = ${key} AND position = ${position}`.pipe(
      rowAs(Piece),
      failing("get"),
      Effect.flatMap((row) => (row === undefined ? Effect.fail(missing()) : Effect.succeed(row.data)))
    )

  const get: Blobs["get"] = (key, range) =>
    Stream.unwrap(
      Effect.gen(function* () {
        if (!keyPattern.test(key)) return Stream.fail(missing())
        const blob = yield* sql`SELECT bytes::text FROM file_blobs WHERE key = ${key} AND complete`.pipe(
          rowAs(Blob)
        )
        if (blob === undefined) return Stream.fail(missing())
        const { end, start } = range ?? { start: 0, end: blob.bytes }
        if (end > blob.bytes) return Stream.fail(missing())
        if (end <= start) return Stream.empty
        return Stream.range(Math.floor(start / pieceBytes), Math.ceil(end / pieceBytes) - 1).pipe(
          Stream.rechunk(1),
          Stream.mapEffect(
            (position) =>
              Effect.map(piece(key, position), (data) => {
                const from = position * pieceBytes
                return data.subarray(Math.max(0, start - from), Math.min(pieceBytes, end - from))
              }),
            { concurrency: piecesAheadMax }
          ),
          ofLength(end - start)
        )
      }).pipe(failing("get"))
    )

  const has = (key: string) =>
    sql`SELECT key FROM file_blobs WHERE key = ${key} AND complete`.pipe(
      Effect.map((rows) => rows.length > 0),
      failing("get")
    )

  const remove = (key: string) =>
    keyPattern.test(key) ? failing("remove")(discard(key, "any")) : Effect.void

  /** The keys of one kind that were last touched this long ago, in pages. */
  const pageOf = (complete: boolean, age: Duration.Input, after: string) =>
    sql`SELECT key FROM file_blobs
      WHERE complete = ${complete} AND key > ${after}
        AND touched_at <= clock_timestamp() - make_interval(secs => ${Duration.toSeconds(age)}::float8)
      ORDER BY key LIMIT ${keysPerPage}`.pipe(
      rowsAs(BlobKey),
      Effect.map((rows) => rows.map(({ key }) => key))
    )

  const oldKeys = (complete: boolean, age: Duration.Input) =>
    Stream.paginate("", (after) =>
      Effect.map(pageOf(complete, age, after), (keys) => [keys, lastOfFullPage(keys)] as const)
    )

  const olderThan = (age: Duration.Input) =>
    Stream.mapError(oldKeys(true, age), (cause) => new StorageFailed({ operation: "list", cause }))

  const sweepLeftovers = (age: Duration.Input) =>
    failing("sweep")(Stream.runForEach(oldKeys(false, age), (key) => discard(key, "incomplete")))

  const trashedAfter = (after: string) =>
    sql`SELECT key, extract(epoch FROM trashed_at)::float8 * 1000 AS since FROM file_blobs
      WHERE trashed_at IS NOT NULL AND key > ${after} ORDER BY key LIMIT ${keysPerPage}`.pipe(
      rowsAs(Trashed),
      Effect.map((rows) => [rows, lastOfFullPage(rows.map(({ key }) => key))] as const),
      failing("trash")
    )

  const trash: Blobs["trash"] = {
    add: (key) =>
      failing("trash")(
        sql`UPDATE file_blobs SET trashed_at = clock_timestamp() WHERE key = ${key} AND trashed_at IS NULL`
      ),
    take: (key) => failing("trash")(sql`UPDATE file_blobs SET trashed_at = NULL WHERE key = ${key}`),
    list: Stream.paginate("", trashedAfter)
  }

  return {
    place: "the database",
    put,
    get,
    has,
    remove,
    olderThan,
    sweepLeftovers,
    trash,
    check: roundTrip({ put, get, remove }),
    mark: null
  } satisfies Blobs
})

const lastOfFullPage = (keys: ReadonlyArray<string>): Option.Option<string> =>
  keys.length < keysPerPage ? Option.none() : Option.fromUndefinedOr(keys.at(-1))
