import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { openCopySession } from "../../src/sql/CopySession.ts"
import {
  addForeignKeys,
  dropForeignKeys,
  inTransaction,
  readTable,
  sequencesOf,
  setSequences,
  tablesOf,
  writeTable
} from "../../src/sql/TableCopy.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/**
 * Rows that a careless copy would change: line ends, the marks of COPY's text, and numbers beyond what a
 * double holds.
 */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE odd (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "Column ""x""" text,
    doubled bigint GENERATED ALWAYS AS (length("Column ""x""") * 2) STORED,
    bytes bytea, share float8, at timestamptz, span interval, list text[], document json
  )`
  yield* sql`CREATE TABLE child (odd_id bigint NOT NULL REFERENCES odd (id), parent integer REFERENCES child (id), id serial PRIMARY KEY)`
  yield* sql`INSERT INTO odd ("Column ""x""", bytes, share, at, span, list, document)
    SELECT CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN E'\\\\.\\n\\\\N\\t\\r\\\\' ELSE repeat('ü\u{1f600}', n) END,
      decode(repeat('00ff0a', n), 'hex'), 1 / (n + 0.7)::float8,
      CASE WHEN n = 1 THEN 'infinity' ELSE '2026-11-22 03:04:05.123456+09'::timestamptz END,
      '1 mon -2 days 03:04:05.6', ARRAY['a', NULL, '{"'], '{"a" :  9007199254740993}'
    FROM generate_series(1, 300) AS n`
  yield* sql`INSERT INTO child (odd_id, parent) SELECT n, n FROM generate_series(1, 200) AS n`
  yield* sql`SELECT setval(pg_get_serial_sequence('odd', 'id'), 9007199254740993)`
})

const structure = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* fill
  yield* sql`TRUNCATE odd, child RESTART IDENTITY`
})

const contents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT 'odd' AS name, odd::text AS row FROM odd UNION ALL SELECT 'child', child::text FROM child ORDER BY 1, 2`
})

const session = Effect.flatMap(TestDatabase, openCopySession)

layer(TestDatabase.layer)("The copy of tables", (it) => {
  it.effect("the copy of tables has the same rows, sequences and foreign keys", () =>
    Effect.gen(function* () {
      yield* fill
      const from = yield* session
      const before = yield* contents
      const tables = yield* tablesOf(from)
      const mine = tables.filter(({ name }) => name === "odd" || name === "child")
      assert.deepStrictEqual(
        mine.map(({ name }) => name),
        ["child", "odd"]
      )
      assert.isFalse(tables.some(({ name }) => name === "effect_sql_migrations"))
      yield* Effect.gen(function* () {
        yield* structure
        const to = yield* session
        const copied = yield* inTransaction(
          to,
          "READ WRITE",
          Effect.gen(function* () {
            const keys = yield* dropForeignKeys(to)
            const rows = yield* Effect.forEach(mine, (table) => writeTable(to, table, readTable(from, table)))
            yield* addForeignKeys(to, keys)
            return rows
          })
        )
        yield* setSequences(to, yield* sequencesOf(from))
        assert.deepStrictEqual(copied, [200, 300])
        assert.deepStrictEqual(yield* contents, before)
        assert.deepStrictEqual(yield* sequencesOf(to), yield* sequencesOf(from))
        const sql = yield* SqlClient.SqlClient
        const orphan = yield* Effect.exit(sql`INSERT INTO child (odd_id) VALUES (999999)`)
        assert.isTrue(Exit.isFailure(orphan))
      }).pipe(Effect.provide(Layer.fresh(TestDatabase.layer)))
    })
  )

  it.effect("the copy of tables reads every table as of one moment, whatever is written meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE moving (n integer)`
      yield* sql`INSERT INTO moving VALUES (1)`
      const from = yield* session
      const table = (yield* tablesOf(from)).find(({ name }) => name === "moving")
      const text = yield* inTransaction(
        from,
        "READ ONLY",
        from
          .run("SELECT 1")
          .pipe(
            Effect.andThen(sql`INSERT INTO moving VALUES (2)`),
            Effect.andThen(Stream.mkString(Stream.decodeText(readTable(from, table!))))
          )
      )
      assert.strictEqual(text, "1\n")
    })
  )

  it.effect("the copy of tables adds nothing where the bytes fail in the middle, and says what failed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE half (n integer)`
      const table = { name: "half", columns: ["n"] }
      const bytes = Stream.concat(
        Stream.make(new TextEncoder().encode("1\n2\n")),
        Stream.fail("the disk is gone")
      )
      const error = yield* Effect.flip(
        Effect.scoped(Effect.flatMap(session, (to) => writeTable(to, table, bytes)))
      )
      assert.strictEqual(error, "the disk is gone")
      const wrong = Stream.make(new TextEncoder().encode("1\nx\n"))
      const refused = yield* Effect.flip(
        Effect.scoped(Effect.flatMap(session, (to) => writeTable(to, table, wrong)))
      )
      assert.match(String(refused), /invalid input syntax for type integer.*SQLSTATE 22P02/s)
      assert.deepStrictEqual(yield* sql`SELECT * FROM half`, [])
    })
  )

  it.effect("the copy of tables reports that no server answers", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://parley:secret@127.0.0.1:1/parley")
      const error = yield* Effect.flip(openCopySession({ url }))
      assert.match(error.message, /ECONNREFUSED/)
      assert.notInclude(error.message, "secret")
    }).pipe(Effect.scoped)
  )
})
