import { pipeline } from "node:stream/promises"
import { Effect, Predicate, Redacted, Schema, type Scope, Stream } from "effect"
import { Client, type ClientConfig } from "pg"
import { from as copyFrom, to as copyTo } from "pg-copy-streams"
import { inRealTime } from "../runtime/Monotonic.ts"
import { type DatabaseAddress, sentence, sslOf } from "./DatabaseClient.ts"

/**
 * A session that copies tables failed. `message` is for the operator and holds neither a row nor a secret.
 */
export class CopyFailed extends Schema.TaggedError<CopyFailed>()("CopyFailed", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

/** A statement that loads or reads a whole table is ended by the server after this time. */
const statementHours = 24
/** A statement that waits for a lock for this long fails. */
const lockSeconds = 30
/** Bytes must arrive within this time while a table is read. */
const stallSeconds = 300
const connectSeconds = 30
const keepAliveMillis = 30_000
/** The time that the end of a session may take before its connection is cut. */
const endSeconds = 5

/**
 * Parameters on which a text of COPY depends, the same in every session, whatever the defaults of the
 * database.
 */
const parameters: Readonly<Record<string, string>> = {
  client_encoding: "UTF8",
  datestyle: "ISO, YMD",
  intervalstyle: "postgres",
  extra_float_digits: "1",
  bytea_output: "hex",
  timezone: "UTC",
  statement_timeout: `${statementHours}h`,
  lock_timeout: `${lockSeconds}s`,
  idle_in_transaction_session_timeout: "0",
  jit: "off"
}

type Row = Readonly<Record<string, unknown>>

/** One session of a PostgreSQL server, which speaks COPY as well. One statement at a time. */
export interface CopySession {
  readonly run: (
    sql: string,
    values?: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<Row>, CopyFailed>
  /**
   * Returns the bytes of a `COPY … TO STDOUT`. A reader that stops before the end has to close the session.
   */
  readonly read: (sql: string) => Stream.Stream<Uint8Array, CopyFailed>
  /**
   * Runs a `COPY … FROM STDIN`; the answer is the number of rows. Where the bytes fail, the statement fails.
   */
  readonly write: <E, R>(
    sql: string,
    bytes: Stream.Stream<Uint8Array, E, R>
  ) => Effect.Effect<number, CopyFailed | E, R>
}

const failed = (cause: unknown) =>
  new CopyFailed({
    message: sentence(cause) ?? (cause instanceof Error ? cause.message : String(cause)),
    cause
  })

const parameterOf = (url: URL, name: string): string | undefined => url.searchParams.get(name) ?? undefined

/** The connection settings: server, user and TLS of the service's own client. */
const configOf = (address: DatabaseAddress): ClientConfig => {
  const options = {
    application_name: "parley copy",
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMillis,
    connectionTimeoutMillis: connectSeconds * 1_000
  }
  if (!("url" in address)) {
    const { database, path, username } = address
    const [directory = "", port = ""] = path.split("/.s.PGSQL.")
    return { ...options, host: directory, port: Number(port), user: username, database }
  }
  const url = new URL(Redacted.value(address.url))
  const user = parameterOf(url, "user") ?? decodeURIComponent(url.username)
  const settings = parameterOf(url, "options")
  return {
    ...options,
    host: parameterOf(url, "host") ?? decodeURIComponent(url.hostname.replace(/^\[|\]$/g, "")),
    port: Number(parameterOf(url, "port") ?? (url.port || "5432")),
    ...(user === "" ? {} : { user }),
    password: parameterOf(url, "password") ?? decodeURIComponent(url.password),
    database: parameterOf(url, "dbname") ?? decodeURIComponent(url.pathname.slice(1)),
    ...(settings === undefined ? {} : { options: settings })
  }
}

/**
 * The ways to connect, in the order in which they are tried: `prefer` and `allow` encrypt where the server
 * can.
 */
const waysTo = (address: DatabaseAddress): ReadonlyArray<ClientConfig> => {
  const config = configOf(address)
  if (!("url" in address)) return [config]
  const ssl = sslOf(address.url)
  const mode = new URL(Redacted.value(address.url)).searchParams.get("sslmode")
  if (ssl !== undefined) return [{ ...config, ssl }]
  return mode === "prefer" || mode === "allow" ? [{ ...config, ssl: true }, config] : [config]
}

const connect = (config: ClientConfig) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client(config)
        // A broken idle connection fails the next statement.
        client.on("error", () => {})
        await client.connect()
        return client
      },
      catch: failed
    }),
    (client) =>
      Effect.tryPromise(() => client.end()).pipe(
        Effect.timeoutOption(`${endSeconds} seconds`),
        Effect.ignore,
        inRealTime
      )
  )

const copyIn = <E, R>(client: Client, sql: string, bytes: Stream.Stream<Uint8Array, E, R>) =>
  Effect.gen(function* () {
    let failure: { readonly error: E } | null = null
    const source = yield* bytes.pipe(
      Stream.tapError((error) =>
        Effect.sync(() => {
          failure = { error }
        })
      ),
      Stream.toAsyncIterableEffect
    )
    const target = client.query(copyFrom(sql))
    return yield* Effect.tryPromise({
      try: async (signal) => {
        await pipeline(source, target, { signal })
        return target.rowCount
      },
      catch: (cause): CopyFailed | E => (failure === null ? failed(cause) : failure.error)
    })
  })

/** Opens a session, which ends with the scope; a transaction that is then open is rolled back. */
export const openCopySession = Effect.fn("CopySession.open")(function* (
  address: DatabaseAddress
): Effect.fn.Return<CopySession, CopyFailed, Scope.Scope> {
  const [first, second] = waysTo(address)
  const client = yield* connect(first ?? {}).pipe(
    Effect.catch((error) => (second === undefined ? Effect.fail(error) : connect(second)))
  )
  const run: CopySession["run"] = (sql, values = []) =>
    Effect.tryPromise({
      try: async () => {
        const { rows } = await client.query(sql, [...values])
        return rows.filter(Predicate.isObject) as ReadonlyArray<Row>
      },
      catch: failed
    })
  yield* Effect.forEach(
    Object.entries(parameters),
    (parameter) => run("SELECT set_config($1, $2, false)", parameter),
    { discard: true }
  )
  return {
    run,
    read: (sql) =>
      Stream.suspend(() => Stream.fromAsyncIterable(client.query(copyTo(sql)), failed)).pipe(
        Stream.timeoutOrElse({
          duration: `${stallSeconds} seconds`,
          orElse: () => Stream.fail(failed(new Error(`No row came for ${stallSeconds} seconds`)))
        })
      ),
    write: (sql, bytes) => copyIn(client, sql, bytes)
  }
})
