import { Effect, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../settings/AppConfig.ts"
import { StorageFailed } from "../domain/Errors.ts"
import { failureReason } from "../domain/failureReason.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** How often a process says that it is there, and after how long a silence it isn't any more. */
const beatSeconds = 10
const silenceSeconds = 60
/** How long the end of the process may wait for its row to go. */
const leaveSeconds = 5

/** Another running process on the same database keeps its files in another store. `message` is for the operator. */
export class StoreNotShared extends Schema.TaggedError<StoreNotShared>()("StoreNotShared", {
  message: Schema.String
}) {}

const notShared = (place: string, other: string): StoreNotShared =>
  new StoreNotShared({
    message:
      `This process keeps its files in ${place}, but another running one on the same database keeps them in ${other}, so neither would ` +
      "find the other's files. Give both the same PARLEY_FILES_STORE and its settings. Directories on several machines must be " +
      "one shared directory; set PARLEY_FILES_DIRECTORY_SHARED to true if they are and seem different. " +
      `A process that was killed counts for ${silenceSeconds} seconds.`
  })

const Others = Schema.Array(Schema.Struct({ location: Schema.String }))

const starting = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (cause) => new StorageFailed({ operation: "start", cause }))

/** Removes every registration. Only for a process that shares the database with no other, before it registers itself. */
export const leaveAllStores = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM file_store_replicas`
})

/**
 * Registers this process as one that keeps files in the store of this id, for as long as the scope is open. Fails when a
 * live process on the same database uses another one, unless the settings say that their directories are the same in truth.
 */
export const joinStore = Effect.fnUntraced(function* (store: string, place: string) {
  const { files } = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const id = yield* random.uuidV7()
  const isShared = files.store === "directory" && files.directoryShared

  const beat = sql`INSERT INTO file_store_replicas (id, directory, location, seen_at)
    VALUES (${id}::uuid, ${store}::uuid, ${place}, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`

  const others = sql`SELECT location FROM file_store_replicas
    WHERE directory <> ${store}::uuid AND seen_at > clock_timestamp() - make_interval(secs => ${silenceSeconds})
    ORDER BY seen_at DESC LIMIT 1`.pipe(Effect.flatMap(Schema.decodeUnknownEffect(Others)))

  const join = Effect.gen(function* () {
    // Of two that start at once, the second has to see the first.
    yield* sql`LOCK TABLE file_store_replicas IN SHARE ROW EXCLUSIVE MODE`
    yield* sql`DELETE FROM file_store_replicas
      WHERE seen_at <= clock_timestamp() - make_interval(secs => ${silenceSeconds})`
    const [other] = isShared ? [] : yield* others
    if (other === undefined) yield* beat
    return other
  }).pipe(sql.withTransaction, orUnavailable, starting)

  const leave = sql`DELETE FROM file_store_replicas WHERE id = ${id}::uuid`.pipe(
    Effect.timeoutOption(`${leaveSeconds} seconds`),
    Effect.ignore
  )

  const other = yield* Effect.acquireRelease(join, () => leave)
  if (other !== undefined) return yield* notShared(place, other.location)

  // The database may have been away for so long that another process took this one for gone.
  const stay = Effect.gen(function* () {
    yield* beat
    const [other] = isShared ? [] : yield* others
    if (other !== undefined) yield* Effect.logError(notShared(place, other.location).message)
  }).pipe(
    Effect.catch((error) =>
      Effect.logWarning(`The file store could not say that it is in use: ${failureReason(error)}`)
    )
  )

  yield* Effect.sleep(`${beatSeconds} seconds`).pipe(
    Effect.andThen(stay),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )
})
