import { Effect, FileSystem, Path, PlatformError, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../../AppConfig.ts"
import { StorageFailed } from "../../domain/Errors.ts"
import { orUnavailable } from "../../sql/orUnavailable.ts"

/** How often a process says that it is there, and after how long a silence it isn't any more. */
const beatSeconds = 10
const silenceSeconds = 60
/** How long the end of the process may wait for its row to go. */
const leaveSeconds = 5

const fileMode = 0o600

/** Another process on the same database keeps its files in another directory. `message` is for the operator. */
export class DirectoryNotShared extends Schema.TaggedError<DirectoryNotShared>()("DirectoryNotShared", {
  message: Schema.String
}) {}

const notShared = (other: string): DirectoryNotShared =>
  new DirectoryNotShared({
    message:
      `Another process on the same database keeps its files in another directory, ${other} on its machine, so neither would find the other's files. ` +
      "Let both use one directory, set PARLEY_FILES_STORE to postgres or s3, or set PARLEY_FILES_DIRECTORY_SHARED to true if both see the same files. " +
      `A process that was killed counts for ${silenceSeconds} seconds.`
  })

const Identity = Schema.String.check(Schema.isUUID())
const Others = Schema.Array(Schema.Struct({ location: Schema.String }))

/** What a directory is known by, wherever it is mounted: a random id in a file of its own. The first process makes it. */
const identityOf = Effect.fnUntraced(
  function* (root: string) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const random = yield* SecureRandom.SecureRandom
    const file = path.join(root, "identity")
    const draft = `${file}.${yield* random.uuidV4()}`
    const write = (name: string, id: string) =>
      fs.writeFileString(name, `${id}\n`, { mode: fileMode, flag: "wx" })
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(draft, { force: true })))
    if (!(yield* fs.exists(file))) {
      const id = yield* random.uuidV4()
      yield* write(draft, id)
      // A link is made whole or not at all, and by one process only. Some file systems have none.
      yield* fs.link(draft, file).pipe(
        Effect.catchIf(
          (error) => !isTaken(error),
          () => write(file, id)
        ),
        Effect.catchIf(isTaken, () => Effect.void)
      )
    }
    const text = yield* fs.readFileString(file)
    return yield* Schema.decodeUnknownEffect(Identity)(text.trim())
  },
  (effect) => Effect.scoped(effect)
)

const isTaken = (error: PlatformError.PlatformError): boolean => error.reason._tag === "AlreadyExists"

const starting = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (cause) => new StorageFailed({ operation: "start", cause }))

/** Removes every registration. Only for a process that shares the database with no other, before it registers itself. */
export const leaveAllDirectories = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM file_store_replicas`
})

/**
 * Registers this process as one that keeps files in `root`, for as long as the scope is open. Fails when a live process on
 * the same database uses another directory, unless the settings say that the directories are the same in truth.
 */
export const joinDirectory = Effect.fnUntraced(function* (root: string) {
  const { files } = yield* AppConfig
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const directory = yield* starting(identityOf(root))
  const id = yield* random.uuidV7()

  const beat = sql`INSERT INTO file_store_replicas (id, directory, location, seen_at)
    VALUES (${id}::uuid, ${directory}::uuid, ${root}, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()`

  const others = sql`SELECT location FROM file_store_replicas
    WHERE directory <> ${directory}::uuid AND seen_at > clock_timestamp() - make_interval(secs => ${silenceSeconds})
    ORDER BY seen_at DESC LIMIT 1`.pipe(Effect.flatMap(Schema.decodeUnknownEffect(Others)))

  const join = Effect.gen(function* () {
    // Of two that start at once, the second has to see the first.
    yield* sql`LOCK TABLE file_store_replicas IN SHARE ROW EXCLUSIVE MODE`
    yield* sql`DELETE FROM file_store_replicas
      WHERE seen_at <= clock_timestamp() - make_interval(secs => ${silenceSeconds})`
    const [other] = files.directoryShared ? [] : yield* others
    if (other === undefined) yield* beat
    return other
  }).pipe(sql.withTransaction, orUnavailable, starting)

  const leave = sql`DELETE FROM file_store_replicas WHERE id = ${id}::uuid`.pipe(
    Effect.timeoutOption(`${leaveSeconds} seconds`),
    Effect.ignore
  )

  const other = yield* Effect.acquireRelease(join, () => leave)
  if (other !== undefined) return yield* notShared(other.location)

  // The database may have been away for so long that another process took this one for gone.
  const stay = Effect.gen(function* () {
    yield* beat
    const [other] = files.directoryShared ? [] : yield* others
    if (other !== undefined) yield* Effect.logError(notShared(other.location).message)
  }).pipe(Effect.catch((error) => Effect.logWarning("The file store could not say that it is in use", error)))

  yield* Effect.sleep(`${beatSeconds} seconds`).pipe(
    Effect.andThen(stay),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped
  )
})
