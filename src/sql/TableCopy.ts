import { Effect, Schema, Stream } from "effect"
import { type CopyFailed, type CopySession } from "./CopySession.ts"

/** A table, and the columns of it that hold something of their own. */
export const CopiedTable = Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })
export type CopiedTable = typeof CopiedTable.Type

/** Where a sequence stands. */
export const CopiedSequence = Schema.Struct({
  name: Schema.String,
  /** As text: it may be beyond what a number holds exactly. */
  lastValue: Schema.String,
  isCalled: Schema.Boolean
})
export type CopiedSequence = typeof CopiedSequence.Type

/** So many rows and bytes of a table have been copied. */
export interface Copied {
  readonly rows: number
  readonly bytes: number
}

/** Tables whose rows say how the schema came about, or which processes run on the database; no copy takes them along. */
export const neverCopied: ReadonlyArray<string> = [
  "effect_sql_migrations",
  "file_jobs_migrations",
  "index_jobs_migrations",
  "file_store_replicas"
]

const newline = 0x0a

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const target = ({ columns, name }: CopiedTable): string =>
  `${quoted(name)} (${columns.map(quoted).join(", ")})`

const Tables = Schema.Array(CopiedTable)

/** The tables of the session's schema in the order of their names, without those that are `except`ed. */
export const tablesOf = (session: CopySession, except: ReadonlyArray<string> = neverCopied) =>
  session
    .run(
      `SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND c.relname <> ALL ($1::text[])
      GROUP BY c.relname ORDER BY c.relname`,
      [except]
    )
    .pipe(Effect.flatMap(Schema.decodeUnknownEffect(Tables)), Effect.catchTag("SchemaError", Effect.die))

/** The rows of a table as COPY's text, as of the session's transaction: each is a line, and holds no other newline. */
export const readTable = (session: CopySession, table: CopiedTable): Stream.Stream<Uint8Array, CopyFailed> =>
  session.read(`COPY ${target(table)} TO STDOUT`)

/** Counts the rows in some of a table's text. */
export const rowsIn = (bytes: Uint8Array): number => {
  let rows = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) rows++
  return rows
}

/** Adds the rows of such a text to a table; the answer is their number. */
export const writeTable = <E, R>(
  session: CopySession,
  table: CopiedTable,
  text: Stream.Stream<Uint8Array, E, R>
): Effect.Effect<number, CopyFailed | E, R> => session.write(`COPY ${target(table)} FROM STDIN`, text)

/** Copies one table from a session to another one, and tells `advance` after each piece what that added. */
export const copyTable = Effect.fn("TableCopy.copy")(function* (
  from: CopySession,
  to: CopySession,
  table: CopiedTable,
  advance: (copied: Copied) => Effect.Effect<void>
) {
  let bytes = 0
  const text = readTable(from, table).pipe(
    Stream.tap((piece) => {
      bytes += piece.length
      return advance({ rows: rowsIn(piece), bytes: piece.length })
    })
  )
  const rows = yield* writeTable(to, table, text)
  return { rows, bytes } satisfies Copied
})

const Sequences = Schema.Array(CopiedSequence)

const sequenceQuery = `SELECT relname AS name FROM pg_class
  WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' ORDER BY relname`

/** Sequences stand outside of transactions: read them after the tables, so that none is behind a row. */
export const sequencesOf = Effect.fnUntraced(function* (session: CopySession) {
  const names = yield* session.run(sequenceQuery)
  const rows = yield* Effect.forEach(names, ({ name }) =>
    session.run(
      `SELECT $1::text AS name, last_value::text AS "lastValue", is_called AS "isCalled" FROM ${quoted(String(name))}`,
      [name]
    )
  )
  return yield* Effect.orDie(Schema.decodeUnknownEffect(Sequences)(rows.flat()))
})

export const setSequences = (session: CopySession, sequences: ReadonlyArray<CopiedSequence>) =>
  Effect.forEach(
    sequences,
    ({ isCalled, lastValue, name }) =>
      session.run("SELECT setval($1::regclass, $2::bigint, $3::boolean)", [
        quoted(name),
        lastValue,
        isCalled
      ]),
    { discard: true }
  )

const foreignKeyQuery = `SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
  FROM pg_constraint
  WHERE connamespace = current_schema()::regnamespace AND contype = 'f' AND conparentid = 0 ORDER BY conname`

/**
 * Lets `load` fill tables in any order: foreign keys are dropped before and added again after it, which checks all rows
 * at once. To be called in a transaction.
 */
export const withoutForeignKeys = Effect.fnUntraced(function* <A, E, R>(
  session: CopySession,
  load: Effect.Effect<A, E, R>
) {
  const keys = yield* session.run(foreignKeyQuery)
  for (const { name, table } of keys) yield* session.run(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  const loaded = yield* load
  for (const { definition, name, table } of keys)
    yield* session.run(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`)
  return loaded
})

/** Runs a transaction. Where it fails or is interrupted, the session has to be closed, which rolls it back. */
export const inTransaction = <A, E, R>(
  session: CopySession,
  mode: "READ ONLY" | "READ WRITE",
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | CopyFailed, R> =>
  session.run(`BEGIN ISOLATION LEVEL REPEATABLE READ ${mode}`).pipe(
    Effect.andThen(work),
    Effect.tap(() => session.run("COMMIT"))
  )
