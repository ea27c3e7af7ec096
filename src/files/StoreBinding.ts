import { Cause, Effect, Option, Schema, Stream, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { StorageFailed } from "../domain/Errors.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { databasePlace } from "../sql/Database.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { type Blobs, type StoreMark, noMark } from "./blobs/Blobs.ts"

/** The number of files, the oldest and the newest, whose bytes show that a store belongs to the database. */
const samplesMax = 50
const lookupsAtOnceMax = 8

/**
 * The store of files and the database don't belong together. `message` is for the operator and holds no
 * secret.
 */
export class StoreMismatch extends Schema.TaggedError<StoreMismatch>()("StoreMismatch", {
  message: Schema.String
}) {}

/** The database that a store is bound to. */
export interface BoundDatabase {
  readonly database: string
  readonly databaseId: string
}

const Bindings = Schema.Tuple([
  Schema.Struct({
    databaseId: Schema.String,
    storeId: Schema.NullOr(Schema.String),
    storePlace: Schema.NullOr(Schema.String),
    hasFiles: Schema.Boolean,
    newStoreId: Schema.String
  })
])
const BlobKey = Schema.Struct({ key: Schema.String })

/** The store to which the database refers. */
type Binding = (typeof Bindings.Type)[0]

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

const remedy =
  "The service doesn't use the two together, because it would take the files of one for garbage, or could not find those of the other. Check " +
  "DATABASE_URL, PARLEY_DATA_DIR and PARLEY_FILES_STORE with its settings. If a backup is being restored, restore the database and the " +
  "files before the start. If this store is to hold the files of this database from now on, run `parley file adopt-store` with the same settings."

const notBound = (place: string, database: string, known: Binding, found: StoreMark): StoreMismatch => {
  const other = found.database === null ? "no database" : `the database of id ${found.database}`
  const problem =
    found.database === known.databaseId
      ? `The files of ${database} are now in ${known.storePlace ?? "another store"} (id ${known.storeId}), not in ${place} (id ${found.store}).`
      : `${capitalized(place)} is not bound to ${database} (id ${known.databaseId}) any more, but to ${other}.`
  return new StoreMismatch({
    message:
      `${problem} Uploads are refused, and no stored file is removed. If the files were moved, restart with the settings of their store. ` +
      "Check whether another installation uses the same store: each needs its own. If this store is to hold the files of this database, " +
      "run `parley file adopt-store` with the same settings."
  })
}

/** Failures of the database during the start count as failures of the store. */
const asked = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    orUnavailable,
    Effect.mapError((cause) => new StorageFailed({ operation: "start", cause }))
  )

/**
 * Processes that start at once agree on the id of a new store, because it comes from the database's id and
 * the place.
 */
const makeBinding = (sql: SqlClient.SqlClient, place: string) =>
  Effect.gen(function* () {
    yield* sql`INSERT INTO file_store_binding (database_id) VALUES (gen_random_uuid()) ON CONFLICT DO NOTHING`
    const rows =
      yield* sql`SELECT database_id, store_id, store_place, EXISTS (SELECT FROM files) AS has_files,
      encode(substr(sha256(convert_to(database_id || ${place}, 'UTF8')), 1, 16), 'hex')::uuid AS new_store_id
    FROM file_store_binding`
    return (yield* Schema.decodeUnknownEffect(Bindings)(rows))[0]
  }).pipe(asked)

/** Binds a store to the database, and checks that they belong together. */
export const makeStoreBinding = Effect.fnUntraced(function* (blobs: Blobs) {
  const settings = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  const { mark, place } = blobs
  const database = databasePlace(settings)
  const isShared = settings.files.store === "directory" && settings.files.directoryShared

  const binding = makeBinding(sql, place)

  const isEmpty = Effect.map(Stream.runHead(blobs.olderThan(0)), Option.isNone)

  /**
   * True if the store has bytes of the database's files, or if there is no file that counts. With
   * "notAccepted", files don't count if they are older than the adoption of a store without their bytes by
   * the operator.
   */
  const holdsSome = Effect.fnUntraced(function* (which: "all" | "notAccepted") {
    const since =
      which === "all"
        ? sql`true`
        : sql`created_at > coalesce((SELECT bound_at FROM file_store_binding), '-infinity')`
    const keys =
      yield* sql`(SELECT storage_key AS key FROM files WHERE ${since} ORDER BY id LIMIT ${samplesMax})
      UNION (SELECT storage_key AS key FROM files WHERE ${since} ORDER BY id DESC LIMIT ${samplesMax})`.pipe(
        rowsAs(BlobKey),
        asked
      )
    if (keys.length === 0) return true
    return yield* Stream.fromIterable(keys).pipe(
      Stream.mapEffect(({ key }) => blobs.has(key), { concurrency: lookupsAtOnceMax }),
      Stream.filter((found) => found),
      Stream.runHead,
      Effect.map(Option.isSome)
    )
  })

  const readMark = (known: Binding): Effect.Effect<StoreMark, StorageFailed> =>
    mark === null ? Effect.succeed({ store: known.databaseId, database: known.databaseId }) : mark.read

  /** The reason why the store and the database don't belong together; null if they do. */
  const problem = Effect.fnUntraced(function* (known: Binding, found: StoreMark) {
    const here = capitalized(place)
    if (found.database !== null && found.database !== known.databaseId) {
      return `${here} holds the files of another database (id ${found.database}) than ${database} (id ${known.databaseId}).`
    }
    const isElsewhere = known.storeId !== null && known.storeId !== found.store && !isShared
    if (found.database !== null && known.hasFiles && isElsewhere) {
      return `The files of ${database} are in ${known.storePlace ?? "another store"} (id ${known.storeId}), not in ${place} (id ${found.store}).`
    }
    if (known.hasFiles) {
      if (yield* holdsSome(found.database === null ? "all" : "notAccepted")) return null
      const usual =
        known.storePlace === null || known.storePlace === place ? "" : ` They were in ${known.storePlace}.`
      return `${here} holds none of the files that ${database} knows.${usual}`
    }
    return found.database !== null || (yield* isEmpty)
      ? null
      : `${here} holds files, but ${database} knows of none.`
  })

  const examine = Effect.gen(function* () {
    const known = yield* binding
    const found = yield* readMark(known)
    const message = yield* problem(known, found)
    if (message !== null) return yield* new StoreMismatch({ message: `${message} ${remedy}` })
    return { known, found }
  }).pipe(
    // Another process may have bound the store and filled it between the two checks.
    Effect.retry({ times: 1, while: (error) => error._tag === "StoreMismatch" })
  )

  /**
   * Writes the ids, first into the store and then into the database. A start that is interrupted in between
   * is repeated.
   */
  const write = Effect.fnUntraced(function* (known: Binding, found: StoreMark) {
    const store = found.store ?? known.newStoreId
    if (found.database !== known.databaseId)
      yield* mark?.write({ store, database: known.databaseId }) ?? Effect.void
    if (known.storeId === store && known.storePlace === place) return
    yield* asked(sql`UPDATE file_store_binding SET store_id = ${store}::uuid, store_place = ${place}`)
  })

  /**
   * Returns the database's place and id. Fails unless the ids still show that the store and the database
   * belong together.
   */
  const verify = Effect.gen(function* () {
    const known = yield* binding
    const found = yield* readMark(known)
    if (found.database === known.databaseId && (found.store === known.storeId || isShared)) {
      return { database, databaseId: known.databaseId }
    }
    return yield* notBound(place, database, known, found)
  })

  const bind = Effect.gen(function* () {
    const { found, known } = yield* examine
    yield* joinStore(found.store ?? known.newStoreId, place)
    yield* write(known, found)
    yield* verify
  })

  /** Binds without checking the ids. */
  const adopt = Effect.gen(function* () {
    const known = yield* binding
    // A mark that can't be read is replaced, too.
    const found = yield* Effect.orElseSucceed(readMark(known), () => noMark)
    yield* joinStore(found.store ?? known.newStoreId, place)
    yield* write(known, found)
    const isWhole = !known.hasFiles || (yield* holdsSome("all"))
    // The next start doesn't check the bytes whose loss is accepted here.
    if (!isWhole) yield* asked(sql`UPDATE file_store_binding SET bound_at = now()`)
    const previousDatabaseId = found.database === known.databaseId ? null : found.database
    return { place, database, previousDatabaseId, isWhole }
  })

  return { bind, verify, adopt, examine: Effect.asVoid(examine) }
})

/**
 * Seconds between two renewals of a registration. After `silenceSeconds` without renewal, its process counts
 * as ended.
 */
const beatSeconds = 10
const silenceSeconds = 60
/** Seconds that the end of the process waits for the removal of its registration. */
const leaveSeconds = 5

/**
 * Another running process on the same database keeps its files in another store. `message` is for the
 * operator.
 */
export class StoreNotShared extends Schema.TaggedError<StoreNotShared>()("StoreNotShared", {
  message: Schema.String
}) {}

/** A service runs on the database of a command that needs it stopped. `message` is for the operator. */
class ServiceRunning extends Schema.TaggedError<ServiceRunning>()("ServiceRunning", {
  message: Schema.String
}) {}

const killedCounts = `A process that was killed counts for ${silenceSeconds} seconds.`

const notShared = (place: string, other: string): StoreNotShared =>
  new StoreNotShared({
    message:
      `This process keeps its files in ${place}, but another running one on the same database keeps them in ${other}, so neither would ` +
      "find the other's files. Give both the same PARLEY_FILES_STORE and its settings. Directories on several machines must be " +
      `one shared directory; set PARLEY_FILES_DIRECTORY_SHARED to true if they are and seem different. ${killedCounts}`
  })

const Replicas = Schema.Array(Schema.Struct({ store: Schema.String, location: Schema.String }))

/**
 * The running services of the database, the one with the latest renewal first. Until the end of the
 * transaction, no service registers.
 */
const lockedReplicas = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`LOCK TABLE file_store_replicas IN SHARE ROW EXCLUSIVE MODE`
  yield* sql`DELETE FROM file_store_replicas
    WHERE seen_at <= clock_timestamp() - make_interval(secs => ${silenceSeconds})`
  const rows = yield* sql`SELECT directory AS store, location FROM file_store_replicas ORDER BY seen_at DESC`
  return yield* Effect.orDie(Schema.decodeUnknownEffect(Replicas)(rows))
})

/**
 * Fails while a service runs on the database. Until the end of the transaction, no service can finish its
 * start.
 */
export const requireStopped = Effect.gen(function* () {
  const [running] = yield* lockedReplicas
  if (running === undefined) return
  return yield* new ServiceRunning({
    message:
      `A service runs on this database, with its files in ${running.location}. Stop every process of the service, and run this command ` +
      `again. ${killedCounts}`
  })
})

/**
 * Removes every registration. Only for the sole owner of the embedded database, before it registers itself.
 */
export const leaveAllStores = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM file_store_replicas`
})

/**
 * Registers this process as a running service with its files in the store of this id, until the scope closes.
 * Fails if a running process of the same database uses another store, unless the settings state that their
 * directories are the same.
 */
const joinStore = Effect.fnUntraced(function* (store: string, place: string) {
  const { files } = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const id = yield* random.uuidV7()
  const isShared = files.store === "directory" && files.directoryShared

  const beat = sql`INSERT INTO file_store_replicas (id, directory, location, seen_at)
    VALUES (${id}::uuid, ${store}::uuid, ${place}, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`

  const join = Effect.gen(function* () {
    const other = (yield* lockedReplicas).find((replica) => replica.store !== store && !isShared)
    if (other === undefined) yield* beat
    return other
  }).pipe(sql.withTransaction, asked)

  const leave = sql`DELETE FROM file_store_replicas WHERE id = ${id}::uuid`.pipe(
    Effect.timeoutOption(`${leaveSeconds} seconds`),
    Effect.ignore
  )

  const other = yield* Effect.acquireRelease(join, () => leave)
  if (other !== undefined) return yield* notShared(place, other.location)

  yield* beat.pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning(
        `The registration of the file store could not be renewed: ${failureReason(Cause.squash(cause))}`
      )
    ),
    Effect.delay(`${beatSeconds} seconds`),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )
})
