import { Effect, Schema, Stream } from "effect"
import { type CopyFailed, type CopySession } from "./CopySession.ts"

/** A table, and the columns of it that hold something of their own. */
export const CopiedTable = Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })
export type CopiedTable = typeof CopiedTable.Type

/** The state of a sequence. */
export const CopiedSequence = Schema.Struct({
  name: Schema.String,
  /** A text, because the value may exceed the integers that a number represents exactly. */
  lastValue: Schema.String,
  isCalled: Schema.Boolean
})
export type CopiedSequence = typeof CopiedSequence.Type

/**
 * Tables that no copy includes: the rows state the origin of the schema, or the processes that run on the
 * database.
 */
export const neverCopied: ReadonlyArray<string> = [
  "effect_sql_migrations",
  "file_jobs_migrations",
  "index_jobs_migrations",
  "file_store_replicas"
]

/** Tables that have rows as soon as their migration has run. */
export const filledByMigrations: ReadonlyArray<string> = ["reload_requests"]

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

/**
 * The rows of a table as COPY's text, as of the session's transaction: each is a line, and holds no other
 * newline.
 */
export const readTable = (session: CopySession, table: CopiedTable): Stream.Stream<Uint8Array, CopyFailed> =>
  session.read(`COPY ${target(table)} TO STDOUT`)

/** Counts the rows in some of a table's text. */
export const rowsIn = (bytes: Uint8Array): number => {
  let rows = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) rows++
  return rows
}

interface Gathered {
  parts: Array<Uint8Array>
  bytes: number
}

/** Cuts a table's text into pieces of whole rows, of about `pieceBytes` each unless one row is longer. */
export const inRows =
  (pieceBytes: number) =>
  <E, R>(text: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.mapAccum(
      text,
      (): Gathered => ({ parts: [], bytes: 0 }),
      (gathered, incoming) => {
        const end = incoming.lastIndexOf(newline) + 1
        if (end === 0 || gathered.bytes + end < pieceBytes) {
          gathered.parts.push(incoming)
          gathered.bytes += incoming.length
          return [gathered, []]
        }
        const piece = Buffer.concat([...gathered.parts, incoming.subarray(0, end)])
        return [{ parts: [incoming.subarray(end)], bytes: incoming.length - end }, [piece]]
      },
      { onHalt: ({ bytes, parts }) => (bytes === 0 ? [] : [Buffer.concat(parts)]) }
    )

/**
 * Deletes the rows that migrations have put into a table. An empty table is skipped, because it may refuse
 * every deletion, as the audit log does.
 */
export const clearTable = Effect.fnUntraced(function* (session: CopySession, { name }: CopiedTable) {
  const found = yield* session.run(`SELECT 1 FROM ${quoted(name)} LIMIT 1`)
  if (found.length > 0) yield* session.run(`DELETE FROM ${quoted(name)}`)
})

/** Adds the rows of such a text to a table. Returns their number. */
export const writeTable = <E, R>(
  session: CopySession,
  table: CopiedTable,
  text: Stream.Stream<Uint8Array, E, R>
): Effect.Effect<number, CopyFailed | E, R> => session.write(`COPY ${target(table)} FROM STDIN`, text)

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

/** A foreign key of the session's schema, as statements name and add it. */
type ForeignKey = Readonly<Record<"table" | "name" | "definition", unknown>>

/**
 * Removes foreign keys, so that tables can be filled fast and in any order. Call it in a transaction, and
 * pass its result to `addForeignKeys`.
 */
export const dropForeignKeys = Effect.fnUntraced(function* (session: CopySession) {
  const keys = yield* session.run(foreignKeyQuery)
  for (const { name, table } of keys) yield* session.run(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  return keys as ReadonlyArray<ForeignKey>
})

/** Adds them again, which checks all rows at once. */
export const addForeignKeys = (session: CopySession, keys: ReadonlyArray<ForeignKey>) =>
  Effect.forEach(
    keys,
    ({ definition, name, table }) => session.run(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`),
    { discard: true }
  )

/** Runs a transaction. If it fails or is interrupted, the session must be closed, which rolls it back. */
export const inTransaction = <A, E, R>(
  session: CopySession,
  mode: "READ ONLY" | "READ WRITE",
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | CopyFailed, R> =>
  session.run(`BEGIN ISOLATION LEVEL REPEATABLE READ ${mode}`).pipe(
    Effect.andThen(work),
    Effect.tap(() => session.run("COMMIT"))
  )
