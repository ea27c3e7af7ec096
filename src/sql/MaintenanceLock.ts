import { Effect, Schedule, Schema } from "effect"
import { inRealTime } from "../runtime/Monotonic.ts"
import { advisoryLocks } from "./AdvisoryLock.ts"
import type { CopySession } from "./CopySession.ts"

/** The commands of which one at a time works on a database; its session has the command's name. */
export type MaintenanceCommand =
  | "parley backup"
  | "parley restore"
  | "parley file move"
  | "parley database move"

/**
 * Seconds that a command waits for another command that is just ending, or for the removal of a file under
 * way.
 */
const lockSeconds = 3

/** Another command works on the database. `message` names it, and says what to do. */
export class MaintenanceBusy extends Schema.TaggedError<MaintenanceBusy>()("MaintenanceBusy", {
  message: Schema.String
}) {}

const Holders = Schema.Array(Schema.Struct({ command: Schema.String, since: Schema.String }))

/** A lock's number is in two columns of 32 bits. */
const holderQuery = `SELECT a.application_name AS command, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"') AS since
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND a.application_name <> ''
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid::int8 << 32 | l.objid::int8 = $1::bigint`

const busy = Effect.fnUntraced(function* (session: CopySession) {
  const rows = yield* session.run(holderQuery, [advisoryLocks.maintenance])
  const [holder] = yield* Effect.orDie(Schema.decodeUnknownEffect(Holders)(rows))
  const what =
    holder === undefined
      ? "Another backup, restore or move is running on this database"
      : `\`${holder.command}\` has been running on this database since ${holder.since}`
  return yield* new MaintenanceBusy({
    message: `${what}, and only one such command runs at a time. Wait for its end, or end it, and run this command again.`
  })
})

const takeLock = (session: CopySession, lock: "maintenance" | "backup") =>
  session.run("SELECT pg_try_advisory_lock($1::bigint) AS got", [advisoryLocks[lock]]).pipe(
    Effect.flatMap(([row]) => (row?.["got"] === true ? Effect.void : Effect.fail("taken" as const))),
    Effect.retry({
      schedule: Schedule.spaced("250 millis").pipe(Schedule.upTo({ duration: `${lockSeconds} seconds` })),
      while: (error) => error === "taken"
    }),
    inRealTime,
    Effect.catch((error) => (error === "taken" ? busy(session) : Effect.fail(error)))
  )

/**
 * Keeps other commands away from the database until the session ends, however it does; fails where one is at
 * work.
 */
export const holdMaintenance = Effect.fn("MaintenanceLock.hold")(function* (
  session: CopySession,
  command: MaintenanceCommand
) {
  yield* takeLock(session, "maintenance")
  yield* session.run("SELECT set_config('application_name', $1, false)", [command])
})

/**
 * Holds the lock, and keeps bytes of deleted files in the store until the session ends: see
 * `files/BlobStore`.
 */
export const holdDeletedBytes = Effect.fn("MaintenanceLock.holdDeletedBytes")(function* (
  session: CopySession,
  command: MaintenanceCommand
) {
  yield* holdMaintenance(session, command)
  yield* takeLock(session, "backup")
})
