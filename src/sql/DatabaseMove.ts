import { Effect, Redacted, Schema } from "effect"
import { type CopySession, openCopySession } from "./CopySession.ts"
import { placeOf } from "./Database.ts"
import type { ClientLimits, DatabaseAddress } from "./DatabaseClient.ts"
import { holdMaintenance } from "./MaintenanceLock.ts"
import { migrate, plannedMigrations } from "./Migrations.ts"
import { meetsRequirements } from "./ServerRequirements.ts"
import {
  addForeignKeys,
  clearTable,
  type CopiedTable,
  dropForeignKeys,
  filledByMigrations,
  inTransaction,
  neverCopied,
  readTable,
  sequencesOf,
  setSequences,
  tablesOf,
  writeTable
} from "./TableCopy.ts"

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

/** A table that has rows although no migration fills it, or null. */
const filledTable = Effect.fnUntraced(function* (session: CopySession) {
  for (const { name } of yield* tablesOf(session, [...neverCopied, ...filledByMigrations])) {
    const rows = yield* session.run(`SELECT FROM ${quoted(name)} LIMIT 1`)
    if (rows.length > 0) return name
  }
  return null
})

/**
 * Copies all rows of a database into one that has the same tables without rows, as of one moment and in one
 * transaction, and compares both. Whatever fails or is killed leaves the target without rows.
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
    const keys = yield* dropForeignKeys(to)
    const moved: Array<MovedTable> = []
    for (const table of tables) {
      if (filledByMigrations.includes(table.name)) yield* clearTable(to, table)
      const copied = { name: table.name, rows: yield* writeTable(to, table, readTable(from, table)) }
      yield* onTable(copied)
      moved.push(copied)
    }
    yield* addForeignKeys(to, keys)
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

/**
 * Moves the database at `source`, on which no service runs, to the empty database at `url`. Examines the
 * target, creates the tables there, copies all rows and compares them. The source stays unchanged.
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
  yield* holdMaintenance(yield* openCopySession(source), "parley database move")
  yield* meetsRequirements(target, limits)
  const filled = yield* Effect.scoped(Effect.flatMap(openCopySession(target), filledTable))
  if (filled !== null) {
    return yield* refuse(
      `${place} already has rows, in the table ${filled}. Create an empty database and name that.`
    )
  }
  yield* migrate(target)
  return { place, tables: yield* copyDatabase(source, target, onTable) }
}, Effect.scoped)
