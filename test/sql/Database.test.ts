import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, FileSystem, Layer, Logger, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import { layerMigrations } from "../../src/sql/Migrations.ts"
import { orUnavailable } from "../../src/sql/orUnavailable.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

const limits = { connectionsMax: 2, connectSeconds: 1, statementSeconds: 1 }

layer(TestDatabase.layerFailing)("The database", (it) => {
  it.effect("the database converts column names, and leaves what is inside JSON alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows =
        yield* sql`SELECT 1 AS a_number, '{"snake_case": {"in_side": [{"a_b": 1}]}}'::json AS some_json`
      assert.deepStrictEqual(rows, [{ aNumber: 1, someJson: { snake_case: { in_side: [{ a_b: 1 }] } } }])
    })
  )

  it.effect("the database returns each type as the schemas of rows expect it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] =
        yield* sql`SELECT 1::int4 AS i, 2::int8 AS l, 0.5::float8 AS f, 1.50::numeric AS n, true AS b,
        'x'::text AS t, '\\x01'::bytea AS y, '00000000-0000-4000-8000-00000000000a'::uuid AS u,
        '2020-02-29T12:00:00.123Z'::timestamptz AS at, '{"a":[1]}'::jsonb AS j, NULL AS nothing`
      assert.deepStrictEqual(row, {
        i: 1,
        l: 2n,
        f: 0.5,
        n: "1.50",
        b: true,
        t: "x",
        y: new Uint8Array([1]),
        u: "00000000-0000-4000-8000-00000000000a",
        at: new Date("2020-02-29T12:00:00.123Z"),
        j: { a: [1] },
        nothing: null
      })
    })
  )

  it.effect("the database returns a row that is as long as the longest body", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bytes = 67_108_864
      const [row] = yield* sql<{ text: string }>`SELECT repeat('a', ${bytes}::int) AS text`
      assert.strictEqual(row?.text.length, bytes)
    })
  )

  it.effect("the database runs each session with our settings", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`SELECT current_setting('statement_timeout') AS statement,
        current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone,
        current_setting('jit') AS jit, current_setting('application_name') AS name,
        current_setting('default_transaction_isolation') AS isolation`
      assert.deepStrictEqual(row, {
        statement: "15s",
        idle: "30s",
        zone: "UTC",
        jit: "off",
        name: "parley",
        isolation: "read committed"
      })
    })
  )

  it.effect("the database answers a ping", () => Effect.flatMap(Database, (database) => database.ping))

  it.effect("a transaction is stored whole or not at all, whichever of its statements fails", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const faults = yield* SqlFaults
      yield* sql`CREATE TABLE pairs (n int)`
      const both = sql.withTransaction(
        Effect.andThen(sql`INSERT INTO pairs VALUES (1)`, sql`INSERT INTO pairs VALUES (2)`)
      )
      for (const when of ["before", "after"] as const) {
        for (let n = 1; n <= 4; n++) {
          yield* sql`DELETE FROM pairs`
          yield* faults.failStatement(n, when)
          const error = yield* Effect.flip(orUnavailable(both))
          assert.strictEqual(error._tag, "DatabaseUnavailable")
          yield* faults.off
          const left = (yield* sql`SELECT n FROM pairs`).length
          // Only when the answer to COMMIT is lost may everything be there.
          assert.strictEqual(left, n === 4 && when === "after" ? 2 : 0)
        }
      }
    })
  )
})

layer(TestDatabase.clone)("A client", (it) => {
  it.effect("a database client waits for a connection no longer than its limit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.scoped(
        Effect.gen(function* () {
          for (let n = 0; n < limits.connectionsMax; n++) yield* sql.reserve
          const error = yield* Effect.flip(sql`SELECT 1`)
          assert.strictEqual(error.message, "No connection to the database became free in time")
          assert.strictEqual((yield* Effect.flip(orUnavailable(sql`SELECT 1`)))._tag, "DatabaseUnavailable")
        })
      )
      yield* sql`SELECT 1`
    }).pipe(Effect.provide(TestDatabase.client(limits)))
  )

  it.effect("a database client ends a statement that takes too long, and goes on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(orUnavailable(sql`SELECT pg_sleep(60)`))
      assert.strictEqual(error._tag, "DatabaseUnavailable")
      yield* sql`SELECT 1`
    }).pipe(Effect.provide(TestDatabase.client(limits)))
  )

  it.effect("a database client releases its connection when a statement is interrupted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (let n = 0; n < 10; n++) yield* Effect.raceFirst(sql`SELECT pg_sleep(60)`, Effect.yieldNow)
      yield* sql`SELECT 1`
    }).pipe(Effect.provide(TestDatabase.client({ connectionsMax: 1 })))
  )

  it.effect("a database client reports the server's message with its SQLSTATE, without the value", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.strictEqual(
        (yield* Effect.flip(sql`SELECT * FROM missing`)).message,
        'relation "missing" does not exist (SQLSTATE 42P01)'
      )
      assert.strictEqual(
        (yield* Effect.flip(sql`SELECT ${"what a user wrote"}::text::uuid`)).message,
        "invalid input syntax for type uuid: … (SQLSTATE 22P02)"
      )
    }).pipe(Effect.provide(TestDatabase.client(limits)))
  )

  it.effect("a database client does not turn a programming error into an outage", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const mistake of [sql`SELECT nonsense`, sql`SELECT 1 / 0`, sql`SELECT ${"a\u0000b"}::text`]) {
        const exit = yield* Effect.exit(orUnavailable(mistake))
        assert.isTrue(Exit.hasDies(exit), String(exit))
      }
    }).pipe(Effect.provide(TestDatabase.client(limits)))
  )
})

describe("The start", () => {
  it.effect("the start names the database that it could not reach, without the password", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://someone:secret@127.0.0.1:1/parley?sslmode=nonsense")
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Database.layerAddress({ url }, limits))))
      assert.include(error.message, "127.0.0.1:1/parley")
      assert.notInclude(error.message, "secret")
    })
  )

  it.effect.each([
    ["a port on which nobody listens", "127.0.0.1:1", "127.0.0.1:1/parley"],
    ["a host that does not resolve", "nowhere.invalid", "nowhere.invalid:5432/parley"],
    ["a host that gives no answer", "192.0.2.1:5433", "192.0.2.1:5433/parley"]
  ] as const)("the start says at once, and once, that it waits for %s", ([, host, shown]) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => lines.push(String(message)))
      const url = Redacted.make(`postgres://someone:secret@${host}/parley`)
      const starting = Effect.scoped(Layer.build(Database.layerAddress({ url }, limits)))
      const start = yield* Effect.forkChild(Effect.provide(starting, Logger.layer([logger])))
      yield* until(Effect.sync(() => lines.length > 0))
      assert.isUndefined(start.pollUnsafe())
      yield* Fiber.interrupt(start)
      assert.lengthOf(lines, 1)
      assert.include(lines[0], `Can't reach PostgreSQL at ${shown}.`)
      assert.include(lines[0], "start PostgreSQL, or correct the host and port in DATABASE_URL")
      assert.notInclude(lines[0], "secret")
    })
  )

  it.effect("the start reports that DATABASE_URL names no user, where it needs one", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://127.0.0.1:1/parley?sslmode=nonsense")
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Database.layerAddress({ url }, limits))))
      assert.match(error.message, /names no user: write it as postgres:\/\/USER:PASSWORD@HOST/)
    })
  )

  it.effect("the start with DATABASE_URL never falls back to the embedded server", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* fs.makeTempDirectoryScoped()
      const database = {
        ...limits,
        url: Redacted.make("postgres://nobody:x@127.0.0.1:1/none?sslmode=nonsense")
      }
      const config = Layer.succeed(AppConfig, testConfig({ dataDir, database }))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(Database.layer, config))))
      assert.strictEqual(error._tag, "DatabaseUnreachable")
      assert.deepStrictEqual(yield* fs.readDirectory(dataDir), [])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("the start without DATABASE_URL starts the embedded server, migrates it, and stops it last", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* fs.makeTempDirectoryScoped()
      const config = Layer.succeed(AppConfig, testConfig({ dataDir }))
      const scope = yield* Scope.make()
      let users: unknown
      // Services that depend on the database may still use it while it is closed.
      const dependent = Layer.effectDiscard(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.addFinalizer(() =>
            Effect.orDie(sql`SELECT count(*)::int AS n FROM users`).pipe(
              Effect.map((rows) => {
                users = rows
              })
            )
          )
        )
      )
      const everything = Layer.mergeAll(layerMigrations, dependent).pipe(
        Layer.provide(Database.layer),
        Layer.provide(config)
      )
      yield* Layer.buildWithScope(everything, scope)
      assert.isTrue(yield* fs.exists(`${dataDir}/postgres/data/postmaster.pid`))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(users, [{ n: 0 }])
      assert.isFalse(yield* fs.exists(`${dataDir}/postgres/data/postmaster.pid`))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
