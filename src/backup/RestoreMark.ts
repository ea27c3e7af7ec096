import { Effect, Schema } from "effect"
import type { CopySession } from "../sql/CopySession.ts"
import { restoreTable } from "../sql/Migrations.ts"

const Rows = Schema.Tuple([Schema.Struct({ databaseId: Schema.String, confirmed: Schema.Boolean })])

/** The row that stands in a database from the beginning of a restore to its end. */
export interface RestoreMark {
  /** The id that the restored database gets. */
  readonly databaseId: string
  /** Whether the database and the store were empty when the restore began, so that what they hold is the restore's own. */
  readonly confirmed: boolean
}

/** Objects of the schema that no extension owns. */
const own = (catalog: "pg_class" | "pg_proc") =>
  `NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = '${catalog}'::regclass AND d.objid = o.oid AND d.deptype = 'e')`

const relations = `SELECT quote_ident(relname) AS name, relkind AS kind FROM pg_class o
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
    AND relname <> '${restoreTable}' AND ${own("pg_class")}
  ORDER BY relkind = 'S'`

const functions = `SELECT oid::regprocedure::text AS name FROM pg_proc o
  WHERE pronamespace = current_schema()::regnamespace AND proowner = current_user::regrole AND ${own("pg_proc")}`

/** Marks the database, or finds the mark of a restore that was cut off. */
export const markDatabase = Effect.fnUntraced(function* (session: CopySession, backup: string) {
  yield* session.run(`CREATE TABLE IF NOT EXISTS ${restoreTable} (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    database_id uuid NOT NULL,
    backup text NOT NULL,
    confirmed boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT now()
  )`)
  yield* session.run(
    `INSERT INTO ${restoreTable} (database_id, backup) VALUES (gen_random_uuid(), $1) ON CONFLICT DO NOTHING`,
    [backup]
  )
  const rows = yield* session.run(`SELECT database_id AS "databaseId", confirmed FROM ${restoreTable}`)
  const [mark] = yield* Effect.orDie(Schema.decodeUnknownEffect(Rows)(rows))
  return mark satisfies RestoreMark
})

export const confirmMark = (session: CopySession) =>
  session.run(`UPDATE ${restoreTable} SET confirmed = true`)

/** The service may start from now on. */
export const removeMark = (session: CopySession) => session.run(`DROP TABLE ${restoreTable}`)

/** Whether the schema holds nothing but the mark. */
export const isDatabaseEmpty = (session: CopySession) =>
  Effect.map(session.run(`${relations} LIMIT 1`), (found) => found.length === 0)

/** Removes what a restore that was cut off has made: all of the schema but the mark. Most sequences go with their tables. */
export const clearDatabase = Effect.fnUntraced(function* (session: CopySession) {
  const kinds: Readonly<Record<string, string>> = {
    v: "VIEW",
    m: "MATERIALIZED VIEW",
    S: "SEQUENCE",
    f: "FOREIGN TABLE"
  }
  for (const { kind, name } of yield* session.run(relations))
    yield* session.run(`DROP ${kinds[String(kind)] ?? "TABLE"} IF EXISTS ${name} CASCADE`)
  for (const { name } of yield* session.run(functions)) yield* session.run(`DROP FUNCTION ${name} CASCADE`)
})
