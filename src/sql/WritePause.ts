import { Effect, Schema } from "effect"
import { advisoryLocks } from "./AdvisoryLock.ts"
import { CopyFailed, type CopySession, openCopySession } from "./CopySession.ts"
import type { DatabaseAddress } from "./DatabaseClient.ts"

/** How long the sessions of the service may take to end. */
const endSeconds = 30
const pollMillis = 50

/** The data of the embedded database was moved to another one. `message` says what to do. */
export class DatabaseMoved extends Schema.TaggedError<DatabaseMoved>()("DatabaseMoved", {
  message: Schema.String
}) {}

const failed = (message: string) => new CopyFailed({ message, cause: new Error(message) })

/** A setting of the database, which new sessions begin with; it is the session's own that lets it be written at all. */
const alter = (session: CopySession, change: string, value = "") =>
  session
    .run("SET default_transaction_read_only = off")
    .pipe(
      Effect.andThen(session.run("SELECT set_config('parley.value', $1, false)", [value])),
      Effect.andThen(
        session.run(
          `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database(), current_setting('parley.value')); END $$`
        )
      )
    )

/** Ends the sessions of services, which then begin new ones with the settings of now. */
const endSessions = Effect.fnUntraced(function* (session: CopySession) {
  const ended = yield* session.run(
    `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'parley' AND pid <> pg_backend_pid()`
  )
  const pids = ended.map(({ pid }) => Number(pid))
  const left = session.run("SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[])", [pids])
  yield* Effect.gen(function* () {
    while ((yield* left).length > 0) yield* Effect.sleep(`${pollMillis} millis`)
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${endSeconds} seconds`,
      orElse: () => Effect.fail(failed(`Sessions of the service did not end within ${endSeconds} seconds`))
    })
  )
})

const State = Schema.Tuple([
  Schema.Struct({ isPaused: Schema.Boolean, movedTo: Schema.NullOr(Schema.String) })
])

/** Whether writes are paused, and where the data was moved to, whatever this session began with. */
export const pauseState = (session: CopySession) =>
  session
    .run(
      `SELECT coalesce(bool_or(setting = 'default_transaction_read_only=on'), false) AS "isPaused",
        max(substr(setting, 17)) FILTER (WHERE setting LIKE 'parley.moved_to=%') AS "movedTo"
      FROM pg_db_role_setting, unnest(setconfig) AS setting
      WHERE setrole = 0 AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`
    )
    .pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(State)),
      Effect.map(([state]) => state),
      Effect.catchTag("SchemaError", Effect.die)
    )

/** Holds the right to pause the database for as long as the session lives; false while another session has it. */
export const tryPauseLock = (session: CopySession) =>
  session
    .run("SELECT pg_try_advisory_lock($1::bigint) AS got", [advisoryLocks.writePause])
    .pipe(Effect.map(([row]) => row?.["got"] === true))

/** From now on every service only reads: what it wants to write fails as while the database is away. */
export const pauseWrites = (session: CopySession) =>
  Effect.andThen(alter(session, "SET default_transaction_read_only = on"), endSessions(session))

export const resumeWrites = (session: CopySession) =>
  alter(session, "RESET default_transaction_read_only").pipe(
    Effect.andThen(alter(session, "RESET parley.moved_to")),
    Effect.andThen(endSessions(session))
  )

/** Keeps the pause for good: services refuse to start on the database. */
export const markMoved = (session: CopySession, place: string) =>
  alter(session, "SET parley.moved_to = %L", place)

/**
 * Ends a pause whose command was killed; one that still runs keeps it. Fails when the data was moved. For the owner of the
 * embedded server, which nothing else pauses.
 */
export const endAbandonedPause = Effect.fn("WritePause.endAbandoned")(function* (address: DatabaseAddress) {
  const session = yield* openCopySession(address)
  const { isPaused, movedTo } = yield* pauseState(session)
  if (movedTo !== null) {
    return yield* new DatabaseMoved({
      message:
        `The embedded database was moved to ${movedTo}: set DATABASE_URL to that one. To go back to the embedded database, without what was ` +
        "written to the other one since, run `parley database resume`."
    })
  }
  if (!isPaused || !(yield* tryPauseLock(session))) return false
  yield* resumeWrites(session)
  return true
}, Effect.scoped)
