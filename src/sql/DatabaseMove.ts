import { Effect, Exit, Redacted, Schema } from "effect"
import { type CopySession, openCopySession } from "./CopySession.ts"
import { placeOf } from "./Database.ts"
import type { ClientLimits, DatabaseAddress } from "./DatabaseClient.ts"
import { holdMaintenance } from "./MaintenanceLock.ts"
import { migrate, plannedMigrations } from "./Migrations.ts"
import { meetsRequirements } from "./ServerRequirements.ts"
import {
  clearTable,
  type CopiedTable,
  copyTable,
  filledByMigrations,
  inTransaction,
  neverCopied,
  sequencesOf,
  setSequences,
  tablesOf,
  withoutForeignKeys
} from "./TableCopy.ts"
import { markMoved, pauseState, pauseWrites, resumeWrites, tryPauseLock } from "./WritePause.ts"

/** The database can't be moved. `message` says why and what to do. */
class DatabaseMoveRefused extends Schema.TaggedError<DatabaseMoveRefused>()("DatabaseMoveRefused", {
  message: Schema.String
}) {}

const refuse = (message: string) => Effect.fail(new DatabaseMoveRefused({ message }))

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A table that was copied and compared. */
interface MovedTable {
  readonly name: string
  readonly rows: number
}

/** Called with each table when it has been copied. */
type OnTable = (table: MovedTable) => Effect.Effect<void>

/** The number of rows, and a sum over the hashes of all of them, which doesn't depend on their order. */
const digestOf = (session: CopySession, { columns, name }: CopiedTable) =>
  session
    .run(
      `SELECT count(*)::text || ' ' || coalesce(sum(hashtextextended(ROW(${columns.map(quoted).join(", ")})::text, 0)::numeric), 0) AS digest
      FROM ${quoted(name)}`
    )
    .pipe(Effect.map(([row]) => String(row?.["digest"])))

const filledTable = Effect.fnUntraced(function* (session: CopySession) {
  for (const { name } of yield* tablesOf(session, [...neverCopied, ...filledByMigrations])) {
    const rows = yield* session.run(`SELECT FROM ${quoted(name)} LIMIT 1`)
    if (rows.length > 0) return name
  }
  return null
})

/**
 * Copies all rows of a database into one that has the same tables without rows, as of one moment and in one transaction, and
 * compares both. Whatever fails or is killed leaves the target without rows.
 */
export const copyDatabase = Effect.fn("DatabaseMove.copy")(function* (
  source: DatabaseAddress,
  target: DatabaseAddress,
  onTable: OnTable
) {
  const from = yield* openCopySession(source)
  const to = yield* openCopySession(target)
  const copyAll = Effect.gen(function* () {
    const tables = yield* tablesOf(from)
    const moved = yield* withoutForeignKeys(
      to,
      Effect.forEach(tables, (table) =>
        Effect.when(clearTable(to, table), Effect.succeed(filledByMigrations.includes(table.name))).pipe(
          Effect.andThen(copyTable(from, to, table, () => Effect.void)),
          Effect.map(({ rows }): MovedTable => ({ name: table.name, rows })),
          Effect.tap(onTable)
        )
      )
    )
    yield* setSequences(to, yield* sequencesOf(from))
    for (const table of tables) {
      if ((yield* digestOf(from, table)) !== (yield* digestOf(to, table))) {
        return yield* refuse(
          `The copy of the table ${table.name} has other rows than the table, so nothing was moved.`
        )
      }
    }
    return moved
  })
  return yield* inTransaction(from, "READ ONLY", inTransaction(to, "READ WRITE", copyAll))
}, Effect.scoped)

/** Creates the tables in an empty database that the service could use. */
const prepare = Effect.fnUntraced(function* (target: DatabaseAddress, limits: ClientLimits, place: string) {
  yield* meetsRequirements(target, limits)
  const filled = yield* Effect.scoped(Effect.flatMap(openCopySession(target), filledTable))
  if (filled !== null) {
    return yield* refuse(
      `${place} already has rows, in the table ${filled}. Create an empty database and name that.`
    )
  }
  yield* migrate(target)
})

/**
 * Moves the embedded database, on which a service may run, to the one at `url`. While it copies, the service answers what it can
 * without writing. Writes go on as soon as the command ends without success, also when it is killed; after
 * success the embedded database stays as it is.
 */
export const moveDatabase = Effect.fn("DatabaseMove.move")(function* (
  source: DatabaseAddress,
  url: Redacted.Redacted,
  limits: ClientLimits,
  onTable: OnTable
) {
  const target = { url }
  const place = placeOf(url)
  if ((yield* plannedMigrations(source)).pending.length > 0) {
    return yield* refuse(
      "The embedded database has the schema of an older version. Start this version on it first."
    )
  }
  const control = yield* openCopySession(source)
  yield* holdMaintenance(control, "parley database move")
  const { movedTo } = yield* pauseState(control)
  if (movedTo !== null) {
    return yield* refuse(
      `The embedded database was moved to ${movedTo} before. To move it again from its state of then, run \`parley database resume\` first.`
    )
  }
  yield* prepare(target, limits, place)
  if (!(yield* tryPauseLock(control))) return yield* refuse("Another command is moving this database.")
  const tables = yield* Effect.acquireUseRelease(
    pauseWrites(control).pipe(Effect.onError(() => Effect.ignore(resumeWrites(control)))),
    () => copyDatabase(source, target, onTable),
    (_, exit) => (Exit.isSuccess(exit) ? markMoved(control, place) : Effect.ignore(resumeWrites(control)))
  )
  return { place, tables }
}, Effect.scoped)
