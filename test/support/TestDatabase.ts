import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { inject } from "vitest"
import { Database } from "../../src/sql/Database.ts"
import { makeDatabaseClient } from "../../src/sql/DatabaseClient.ts"
import type { ClientLimits } from "../../src/sql/DatabaseClient.ts"
import { onServer, urlOfDatabase } from "./TestServer.ts"

/** Limits as in production, with a pool small enough that waiting for a connection happens. */
const defaultLimits: ClientLimits = { connectionsMax: 5, connectSeconds: 5, statementSeconds: 15 }

/**
 * The server gives those that are connected five seconds to end, which may be too few while all processors
 * are busy.
 */
const dropRetriesMax = 3

type Clients = Database | SqlClient.SqlClient

/** A migrated PostgreSQL database of one test file's own, dropped at the end. */
export class TestDatabase extends Context.Service<
  TestDatabase,
  {
    /**
     * The address for a second client (`Database.layerAddress({ url }, limits)`), or for DATABASE_URL of a
     * child process.
     */
    readonly url: Redacted.Redacted
  }
>()("parley/test/TestDatabase") {
  /** The database alone, without a client. */
  static readonly clone: Layer.Layer<TestDatabase> = Layer.effect(
    TestDatabase,
    Effect.gen(function* () {
      const { strategy, template, url } = inject("testServer")
      const name = `parley_test_${randomUUID().replaceAll("-", "")}`
      const create = `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY ${strategy}`
      yield* Effect.acquireRelease(onServer(url, create), () =>
        Effect.orDie(
          onServer(url, `DROP DATABASE ${name} WITH (FORCE)`).pipe(Effect.retry({ times: dropRetriesMax }))
        )
      )
      return { url: Redacted.make(urlOfDatabase(url, name)) }
    }).pipe(Effect.orDie)
  )

  /** One more client of the database, with a pool of its own, as another process would have. */
  static readonly client = (limits: Partial<ClientLimits> = {}): Layer.Layer<Clients, never, TestDatabase> =>
    Layer.unwrap(
      Effect.map(TestDatabase, ({ url }) => Database.layerAddress({ url }, { ...defaultLimits, ...limits }))
    ).pipe(Layer.orDie)

  /** A database and a client of it. */
  static readonly layer: Layer.Layer<TestDatabase | Clients> = Layer.provideMerge(
    TestDatabase.client(),
    TestDatabase.clone
  )

  /** The same, with a client whose connection can be made to break at a chosen statement. */
  static readonly layerFailing: Layer.Layer<TestDatabase | Clients | SqlFaults> = Layer.suspend(() =>
    Layer.provideMerge(SqlFaults.layer, TestDatabase.layer)
  )
}

/**
 * Breaks the connection at a chosen statement. Transaction control (BEGIN, COMMIT, ROLLBACK) counts as a
 * statement.
 */
export class SqlFaults extends Context.Service<
  SqlFaults,
  {
    /**
     * Counts from one again, and breaks the connection of the n-th statement: `before` it reaches the server,
     * or `after` the server has done it, so that only the answer is lost.
     */
    readonly failStatement: (n: number, when: "before" | "after") => Effect.Effect<void>
    /** From now on every statement fails, as when the database is away. */
    readonly outage: Effect.Effect<void>
    /** Counts from one again, and lets every statement through. */
    readonly off: Effect.Effect<void>
    /** Statements since the last `failStatement` or `off`, and whether the chosen one was among them. */
    readonly seen: Effect.Effect<{ readonly statements: number; readonly failed: boolean }>
  }
>()("parley/test/SqlFaults") {
  /** Puts a client with faults in place of the one below it. */
  static readonly layer: Layer.Layer<SqlFaults | SqlClient.SqlClient, never, TestDatabase> =
    Layer.effectContext(
      Effect.gen(function* () {
        const { url } = yield* TestDatabase
        let statements = 0
        let away = false
        let chosen: { readonly n: number; readonly when: "before" | "after" } | null = null
        const client = yield* makeDatabaseClient({ url }, defaultLimits, (connection) =>
          everyStatement(connection, (statement) =>
            Effect.suspend(() => {
              statements++
              if (away) return Effect.fail(broken())
              if (chosen === null || statements !== chosen.n) return statement
              const breakIt = connection
                .executeUnprepared("SELECT pg_terminate_backend(pg_backend_pid())", [], undefined)
                .pipe(Effect.ignore, Effect.andThen(Effect.fail(broken())))
              return chosen.when === "before" ? breakIt : Effect.andThen(statement, breakIt)
            })
          )
        )
        const choose = (choice: typeof chosen) =>
          Effect.sync(() => {
            statements = 0
            away = false
            chosen = choice
          })
        return Context.make(SqlClient.SqlClient, client).pipe(
          Context.add(SqlFaults, {
            failStatement: (n, when) => choose({ n, when }),
            outage: Effect.sync(() => {
              away = true
            }),
            off: choose(null),
            seen: Effect.sync(() => ({ statements, failed: chosen !== null && statements >= chosen.n }))
          })
        )
      }).pipe(Effect.orDie)
    ).pipe(Layer.provide(Reactivity.layer))
}

/** The same connection, with `wrap` around each of its statements. */
const everyStatement = (
  connection: SqlConnection.Connection,
  wrap: <A>(statement: Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A, SqlError.SqlError>
): SqlConnection.Connection => ({
  execute: (...args) => wrap(connection.execute(...args)),
  executeRaw: (...args) => wrap(connection.executeRaw(...args)),
  executeStream: (...args) => connection.executeStream(...args),
  executeValues: (...args) => wrap(connection.executeValues(...args)),
  executeValuesUnprepared: (...args) => wrap(connection.executeValuesUnprepared(...args)),
  executeUnprepared: (...args) => wrap(connection.executeUnprepared(...args))
})

const broken = (): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: new Error("The test broke the connection"),
      operation: "query"
    })
  })
