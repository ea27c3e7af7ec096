import { readFileSync } from "node:fs"
import type { ConnectionOptions } from "node:tls"
import { PgClient, PgPool, type PgConnection } from "@effect/sql-pg"
import { Duration, Effect, identity, Option, Predicate, Redacted, type Scope, Stream, String } from "effect"
import { SqlClient, SqlError, Statement, type SqlConnection } from "effect/sql"
import { FairPermits } from "../runtime/FairPermits.ts"
import { inRealTime } from "../runtime/Monotonic.ts"
import { WorksFor } from "../runtime/ProcessorTurns.ts"

/**
 * Messages of class 22, data exception, quote the invalid value, which may be a user's text. Source:
 * PostgreSQL 18, appendix A.
 */
const quotingClass = "22"

/** The message of the server or the operating system; null where the driver itself failed. */
export const sentence = (cause: unknown): string | null => {
  if (!Predicate.hasProperty(cause, "code") || !Predicate.isString(cause.code)) return null
  const message = cause instanceof Error ? cause.message : ""
  if (!Predicate.hasProperty(cause, "severity")) return message === "" ? cause.code : message
  const shown = cause.code.startsWith(quotingClass) ? message.replace(/["'].*$/s, "…") : message
  return `${shown} (SQLSTATE ${cause.code})`
}

/**
 * The same error, with the server's message and SQLSTATE as its message. Only for the operator: a client
 * never sees it. The driver has just created the error, so it is changed in place, which keeps its class and
 * its stack.
 */
const withServerSentence = (error: SqlError.SqlError): SqlError.SqlError => {
  const message = sentence(error.reason.cause)
  if (message !== null) Object.defineProperty(error.reason, "message", { value: message, configurable: true })
  return error
}

/** The address of a PostgreSQL server. */
export type DatabaseAddress =
  | { readonly url: Redacted.Redacted }
  | { readonly path: string; readonly username: string; readonly database: string }

export interface ClientLimits {
  readonly connectionsMax: number
  /** Time for opening a connection, and for waiting until one of the pool is free. */
  readonly connectSeconds: number
  readonly statementSeconds: number
}

/**
 * Share of all connections that statements for one user may have at once: the server works for others beside
 * them.
 */
const userShare = 0.3
/** The time for which an open connection may lie idle in the pool before it is closed. */
const idleSeconds = 60
/** The time for which a transaction may lie idle; nothing here waits for a model or a person inside one. */
const idleInTransactionSeconds = 30
/** After this the server has not kept its own limit, so it hangs or is cut off. */
const statementGraceSeconds = 1
const keepAliveSeconds = 30
/** The longest row, which has a body of at most 64 MiB and the events of a response. */
const rowBytesMax = 268_435_456

/** The parameters of every session, beside its user, its database and `application_name`. */
const startupParameters = ({ statementSeconds }: Pick<ClientLimits, "statementSeconds">) => ({
  statement_timeout: `${statementSeconds}s`,
  idle_in_transaction_session_timeout: `${idleInTransactionSeconds}s`,
  // Decisions under a lock must see everything committed before it, regardless of the database's default.
  default_transaction_isolation: "read committed",
  jit: "off",
  timezone: "UTC"
})

/** The names of the parameters that a connection pooler has to pass on. */
export const startupParameterNames: ReadonlyArray<string> = Object.keys(
  startupParameters({ statementSeconds: 1 })
)

const poolConfig = (address: DatabaseAddress, limits: ClientLimits): PgPool.Config => ({
  ...("url" in address ? { url: address.url, ssl: sslOf(address.url) } : address),
  maxConnections: limits.connectionsMax,
  idleTimeout: `${idleSeconds} seconds`,
  connectTimeout: `${limits.connectSeconds} seconds`,
  keepAlive: `${keepAliveSeconds} seconds`,
  maxMessageSize: rowBytesMax,
  applicationName: "parley",
  startupParameters: startupParameters(limits)
})

/**
 * TLS as libpq understands `sslmode`: `require` encrypts, `verify-ca` and `verify-full` also check who
 * answers; `sslrootcert` names the authority. The driver reads the other modes itself.
 */
export const sslOf = (url: Redacted.Redacted): ConnectionOptions | undefined => {
  const parameters = new URL(Redacted.value(url)).searchParams
  const mode = parameters.get("sslmode")
  const file = parameters.get("sslrootcert")
  if (mode !== "require" && mode !== "verify-ca" && mode !== "verify-full") return undefined
  if (mode === "require" && file === null) return { rejectUnauthorized: false }
  const authority = file === null || file === "system" ? {} : { ca: readFileSync(file, "utf8") }
  return mode === "verify-full" ? authority : { ...authority, checkServerIdentity: () => undefined }
}

/** Parameters of DATABASE_URL that mean something here; `host` to `sslmode` are the driver's. */
const urlParameters: ReadonlyArray<string> =
  "host port user password dbname application_name options connect_timeout sslmode sslrootcert".split(" ")

/**
 * A sentence about the parameters of DATABASE_URL that have no effect, such as a client certificate; else
 * null.
 */
export const ignoredParameters = (url: Redacted.Redacted): string | null => {
  const names = [...new Set(new URL(Redacted.value(url)).searchParams.keys())]
  const ignored = names.filter((name) => !urlParameters.includes(name))
  if (ignored.length === 0) return null
  const shown = ignored.map((name) => name.replace(/[^\w.-]/g, "?").slice(0, 40)).join(", ")
  return `DATABASE_URL has parameters that are ignored: ${shown}. The service signs in with a password and shows no client certificate.`
}

/**
 * A pool of connections in which every wait is bounded: for a connection by `connectSeconds`, for a statement
 * by `statementSeconds`, which the server enforces, and this process when the server hangs. Names of columns
 * are camelCase here. `decorate` wraps every connection; `watch` gets the number of callers that have one or
 * wait.
 */
export const makeDatabaseClient = Effect.fnUntraced(function* (
  address: DatabaseAddress,
  limits: ClientLimits,
  decorate: (connection: SqlConnection.Connection) => SqlConnection.Connection = identity,
  watch: (takers: () => number) => Effect.Effect<void, never, Scope.Scope> = () => Effect.void
) {
  const config = yield* Effect.try({
    try: () => poolConfig(address, limits),
    catch: (cause) => connectionError(`The database's URL can't be used: ${message(cause)}`, cause)
  })
  const pool = yield* inRealTime(PgPool.make(config))
  const statementMax = Duration.seconds(limits.statementSeconds + statementGraceSeconds)
  const lend = (connection: PgConnection.PgConnection) =>
    decorate(boundedConnection(connection, statementMax))
  const leases = makeLeases(pool, limits)
  yield* watch(leases.takers)
  return yield* SqlClient.make({
    acquirer: Effect.map(leases.get, lend),
    borrower: (use) => leases.use((connection) => use(lend(connection))),
    transactionAcquirer: Effect.map(leases.reserve, lend),
    compiler: PgClient.makeCompiler(String.camelToSnake, false),
    // The inside of a json column is data, not names of ours.
    transformRows: Statement.defaultTransforms(String.snakeToCamel, false).array,
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
})

/** The pool's connections; waiting for one fails after `connectSeconds`. */
const makeLeases = (
  pool: PgPool.PgPool,
  limits: ClientLimits
): Pick<PgPool.PgPool, "get" | "reserve" | "use"> & { readonly takers: () => number } => {
  // Callers that have a connection or wait for one.
  let takers = 0
  const permits = new FairPermits({
    totalMax: limits.connectionsMax,
    perKeyMax: Math.max(1, Math.floor(limits.connectionsMax * userShare))
  })
  const enter = Effect.sync(() => takers++)
  const leave = Effect.sync(() => takers--)
  const bounded = <A, R>(connection: Effect.Effect<A, SqlError.SqlError, R>) =>
    Effect.andThen(
      Effect.acquireRelease(enter, () => leave),
      Effect.andThen(admit, connection).pipe(
        Effect.timeoutOrElse({
          duration: `${limits.connectSeconds} seconds`,
          orElse: () => Effect.fail(noneFree())
        }),
        Effect.mapError(withServerSentence),
        inRealTime
      )
    )
  /** Waits until the user for whom the fiber works may have one more. */
  const admit = Effect.withFiber((fiber) => {
    const user = fiber.getRef(WorksFor)
    if (user === null) return Effect.void
    return Effect.flatMap(
      permits.acquireWithin(user, 1, Duration.seconds(limits.connectSeconds)),
      Option.match({ onNone: () => Effect.fail(noneFree()), onSome: () => Effect.void })
    )
  })
  const get = bounded(pool.get)
  return {
    takers: () => takers,
    get,
    reserve: bounded(pool.reserve),
    // Bounds single statements, which are nearly all uses. A bound on the wait is needed only if there is a
    // wait. Opening a connection has its own.
    use: (statement) =>
      Effect.suspend(() => {
        if (takers >= limits.connectionsMax) return Effect.scoped(Effect.flatMap(get, statement))
        takers++
        return Effect.scoped(Effect.andThen(admit, pool.use(statement))).pipe(
          Effect.ensuring(leave),
          Effect.mapError((error) => (SqlError.isSqlError(error) ? withServerSentence(error) : error))
        )
      })
  }
}

const noneFree = () => connectionError("No connection to the database became free in time")

const message = (cause: unknown): string => (cause instanceof Error ? cause.message : "it is malformed")

const connectionError = (text: string, cause: unknown = new Error(text)): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause, message: text, operation: "connect" })
  })

/** A connection of the pool on which every statement ends, with an answer or without. */
const boundedConnection = (
  connection: PgConnection.PgConnection,
  duration: Duration.Duration
): SqlConnection.Connection => {
  const orElse = () => Effect.fail(connectionError("The database did not answer in time"))
  const bounded = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
    statement.pipe(
      Effect.timeoutOrElse({ duration, orElse }),
      Effect.mapError(withServerSentence),
      inRealTime
    )
  const execute =
    (prepare: boolean): SqlConnection.Connection["execute"] =>
    (sql, params, transform) =>
      Effect.map(bounded(connection.query(sql, params, prepare)), ({ rows }) =>
        transform === undefined ? rows : transform(rows)
      )
  return {
    execute: execute(true),
    executeUnprepared: execute(false),
    executeRaw: (sql, params) => bounded(connection.query(sql, params)),
    executeValues: (sql, params) => bounded(connection.queryValues(sql, params)),
    executeValuesUnprepared: (sql, params) => bounded(connection.queryValues(sql, params, false)),
    // A stream takes as long as its reader; the server ends a statement of its that hangs.
    executeStream: (sql, params, transform) => {
      const rows = Stream.mapError(connection.stream(sql, params), withServerSentence)
      return transform === undefined ? rows : Stream.map(rows, (row) => transform([row])[0])
    }
  }
}

/**
 * PostgreSQL answers ROLLBACK to the COMMIT of a transaction that has failed; that must not look like
 * success.
 */
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
