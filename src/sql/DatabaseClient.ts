import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Predicate, Redacted, String } from "effect"
import type { Scope } from "effect"
import { SqlClient, SqlError, Statement } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"
import { inRealTime } from "./inRealTime.ts"

/** Where a PostgreSQL server is. */
export type DatabaseAddress =
  | { readonly url: Redacted.Redacted }
  | { readonly path: string; readonly username: string; readonly database: string }

export interface ClientLimits {
  readonly connectionsMax: number
  /** For opening a connection, and for waiting until one of the pool is free. */
  readonly connectSeconds: number
  readonly statementSeconds: number
}

/** How long an open connection may lie idle in the pool before it is closed. */
const idleSeconds = 60
/** How long a transaction may lie idle; nothing here waits for a model or a person inside one. */
const idleInTransactionSeconds = 30
/** After this the server has not kept its own limit, so it hangs or is cut off. */
const statementGraceSeconds = 1
const keepAliveSeconds = 30

const poolConfig = (address: DatabaseAddress, limits: ClientLimits): PgClient.PgPoolConfig => ({
  ...("url" in address ? { url: address.url, ssl: sslOf(address.url) } : address),
  maxConnections: limits.connectionsMax,
  idleTimeout: `${idleSeconds} seconds`,
  connectTimeout: `${limits.connectSeconds} seconds`,
  keepAlive: `${keepAliveSeconds} seconds`,
  applicationName: "parley",
  startupParameters: {
    statement_timeout: `${limits.statementSeconds}s`,
    idle_in_transaction_session_timeout: `${idleInTransactionSeconds}s`,
    jit: "off",
    timezone: "UTC"
  },
  transformResultNames: String.snakeToCamel,
  transformQueryNames: String.camelToSnake,
  // What is inside a json column is data, not names of ours.
  transformJson: false
})

/**
 * TLS as libpq understands `sslmode`: `require` encrypts, `verify-ca` and `verify-full` also check who answers;
 * `sslrootcert` names the authority. The driver reads the other modes itself.
 */
const sslOf = (url: Redacted.Redacted): ConnectionOptions | undefined => {
  const parameters = new URL(Redacted.value(url)).searchParams
  const mode = parameters.get("sslmode")
  const file = parameters.get("sslrootcert")
  if (mode !== "require" && mode !== "verify-ca" && mode !== "verify-full") return undefined
  if (mode === "require" && file === null) return { rejectUnauthorized: false }
  const authority = file === null || file === "system" ? {} : { ca: readFileSync(file, "utf8") }
  return mode === "verify-full" ? authority : { ...authority, checkServerIdentity: () => undefined }
}

/**
 * A pool of connections in which no one waits without end: for a connection at most `connectSeconds`, for a statement
 * at most `statementSeconds`, which the server enforces and which is enforced here when the server hangs.
 */
export const makeDatabaseClient = Effect.fnUntraced(function* (
  address: DatabaseAddress,
  limits: ClientLimits
) {
  const config = yield* Effect.try({
    try: () => poolConfig(address, limits),
    catch: (cause) => connectionError(cause, `The database's URL can't be used: ${message(cause)}`)
  })
  const pool = yield* inRealTime(PgClient.make(config))
  const within =
    (seconds: number, text: string) =>
    <A, R>(effect: Effect.Effect<A, SqlError.SqlError, R>) =>
      effect.pipe(
        Effect.timeoutOrElse({
          duration: `${seconds} seconds`,
          orElse: () => Effect.fail(connectionError(undefined, text))
        }),
        inRealTime
      )
  return yield* wrapConnections(pool, {
    acquire: within(limits.connectSeconds, "No connection to the database became free in time"),
    run: within(limits.statementSeconds + statementGraceSeconds, "The database did not answer in time")
  })
})

const message = (cause: unknown): string => (cause instanceof Error ? cause.message : "it is malformed")

const connectionError = (cause: unknown, text: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: cause ?? new Error(text),
      message: text,
      operation: "connect"
    })
  })

/** What to put around the taking of a connection, and around each statement on it, transaction control included. */
export interface ConnectionWrapper {
  readonly acquire: (
    connection: Effect.Effect<SqlConnection.Connection, SqlError.SqlError, Scope.Scope>
  ) => Effect.Effect<SqlConnection.Connection, SqlError.SqlError, Scope.Scope>
  readonly run: <A>(
    statement: Effect.Effect<A, SqlError.SqlError>,
    connection: SqlConnection.Connection
  ) => Effect.Effect<A, SqlError.SqlError>
}

/** A client like `pool` in which every connection and every statement goes through `wrapper`. */
export const wrapConnections = Effect.fnUntraced(function* (
  pool: PgClient.PgClient,
  wrapper: ConnectionWrapper
) {
  const acquirer = Effect.map(wrapper.acquire(pool.reserve), (connection) =>
    wrapConnection(connection, wrapper.run)
  )
  const { transformQueryNames, transformResultNames } = pool.config
  const client = yield* SqlClient.make({
    acquirer,
    compiler: PgClient.makeCompiler(transformQueryNames, false),
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]],
    ...(transformResultNames === undefined ? {} : { transformRows: namesTransform(transformResultNames) })
  })
  return Object.assign(client, {
    [PgClient.TypeId]: PgClient.TypeId,
    config: pool.config,
    json: pool.json,
    listen: pool.listen,
    notify: pool.notify
  }) satisfies PgClient.PgClient
})

const wrapConnection = (
  connection: SqlConnection.Connection,
  wrap: ConnectionWrapper["run"]
): SqlConnection.Connection => {
  const run = <A>(statement: Effect.Effect<A, SqlError.SqlError>) => wrap(statement, connection)
  return {
    execute: (sql, params, transform) => run(connection.execute(sql, params, transform)),
    executeRaw: (sql, params) => run(connection.executeRaw(sql, params)),
    executeStream: (sql, params, transform) => connection.executeStream(sql, params, transform),
    executeValues: (sql, params) => run(connection.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) => run(connection.executeValuesUnprepared(sql, params)),
    executeUnprepared: (sql, params, transform) => run(connection.executeUnprepared(sql, params, transform))
  }
}

/** Renames the columns of rows, remembering what each name became. */
const namesTransform = (rename: (name: string) => string) => {
  const renamed = new Map<string, string>()
  const nameOf = (name: string): string => {
    const known = renamed.get(name)
    if (known !== undefined) return known
    const fresh = rename(name)
    renamed.set(name, fresh)
    return fresh
  }
  return Statement.defaultTransforms(nameOf, false).array
}

/** PostgreSQL answers ROLLBACK to the COMMIT of a transaction that has failed; that must not look like success. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    Predicate.hasProperty(result, "command") && result.command === "ROLLBACK"
      ? Effect.fail(
          new SqlError.SqlError({
            reason: new SqlError.UnknownError({
              cause: new Error("COMMIT ended a transaction that had failed before"),
              operation: "commit"
            })
          })
        )
      : Effect.void
  )

/** Both names of the client, for a layer. */
export const clientContext = (client: PgClient.PgClient) =>
  Context.make(PgClient.PgClient, client).pipe(Context.add(SqlClient.SqlClient, client))
