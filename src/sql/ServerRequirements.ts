import { Effect, Redacted, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlConnection, SqlError } from "effect/sql"
import { inRealTime } from "../runtime/Monotonic.ts"
import {
  type ClientLimits,
  type DatabaseAddress,
  makeDatabaseClient,
  startupParameterNames
} from "./DatabaseClient.ts"

/** No connection to the database could be made. `message` is for the operator and holds no secret. */
export class DatabaseUnreachable extends Schema.TaggedError<DatabaseUnreachable>()("DatabaseUnreachable", {
  message: Schema.String
}) {}

/** The database answers, but the service can't work with it. `message` says why, and what to do. */
export class DatabaseUnsuitable extends Schema.TaggedError<DatabaseUnsuitable>()("DatabaseUnsuitable", {
  message: Schema.String
}) {}

/** The oldest major version that the service is tested with. */
const majorVersionMin = 15

/** Comparisons of two sessions; other clients of a busy pooler may take a server in between. */
const poolerRoundsMax = 3

const poolerAdvice =
  "Name PostgreSQL itself in DATABASE_URL, or a pooler in session mode that passes startup parameters on: the service has a pool of its own."

export const unreachable =
  (address: DatabaseAddress) =>
  (error: SqlError.SqlError): DatabaseUnreachable =>
    new DatabaseUnreachable({
      message: /unsupported startup parameter/.test(error.message)
        ? `A connection pooler such as PgBouncer answers at ${shown(address)}: ${error.message}. The service sends these: ${startupParameterNames.join(", ")}. ${poolerAdvice}`
        : `${unreachableText(address, error.message)}${userAdvice(address)}`
    })

/** A sentence with the host, the port and the reason. */
export const unreachableText = (address: DatabaseAddress, reason: string): string =>
  `Can't reach PostgreSQL at ${shown(address)}. ${reason.replace(/\.$/, "")}.`

/** Without a user in the URL, the driver sends the name of the system's user. */
const userAdvice = (address: DatabaseAddress): string => {
  const url = "url" in address ? URL.parse(Redacted.value(address.url)) : null
  if (url === null || url.username !== "" || url.searchParams.has("user")) return ""
  return " DATABASE_URL names no user: write it as postgres://USER:PASSWORD@HOST/DATABASE."
}

/** The port of a URL without one. */
const portDefault = "5432"

const shown = (address: DatabaseAddress): string => {
  if (!("url" in address)) return address.path
  const url = URL.parse(Redacted.value(address.url))
  if (url === null) return "the address in DATABASE_URL"
  const host = url.searchParams.get("host") ?? url.hostname
  const port = url.searchParams.get("port") ?? (url.port || portDefault)
  return `${host}:${port}${url.pathname}`
}

const Facts = Schema.Tuple([
  Schema.Struct({
    version: Schema.String,
    major: Schema.Int,
    encoding: Schema.String,
    readOnly: Schema.Boolean,
    role: Schema.String,
    schema: Schema.NullOr(Schema.String),
    mayCreate: Schema.Boolean
  })
])

/** The advice for a read-only database, as after a failover whose address still leads to the standby. */
export const readOnlyText =
  "The database is read-only: it is a standby, or has default_transaction_read_only. Name the primary."

const factsQuery = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
    current_setting('server_encoding') AS encoding, current_setting('transaction_read_only')::bool AS "readOnly",
    current_user AS role, current_schema() AS schema,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)
      OR to_regclass('effect_sql_migrations') IS NOT NULL AS "mayCreate"`

/** Returns the problem of the server, as a sentence with its remedy, or null. */
export const problemOf = ({
  encoding,
  major,
  mayCreate,
  readOnly,
  role,
  schema,
  version
}: (typeof Facts.Type)[0]): string | null => {
  if (major < majorVersionMin) {
    return `It is PostgreSQL ${version}, and the service needs ${majorVersionMin} or newer.`
  }
  if (encoding !== "UTF8") {
    return (
      `The database has the encoding ${encoding}, which can't store every character. ` +
      "Create one with: CREATE DATABASE parley ENCODING 'UTF8' TEMPLATE template0."
    )
  }
  if (readOnly) return readOnlyText
  if (schema === null) {
    return `The search_path of the role "${role}" names no schema that it may use. Create one, or set the search_path.`
  }
  return mayCreate
    ? null
    : `The role "${role}" may not create tables. As the owner of the database: GRANT CREATE ON SCHEMA ${schema} TO "${role}".`
}

const backendOf = Effect.fnUntraced(function* (connection: SqlConnection.Connection) {
  const rows = yield* connection.executeUnprepared("SELECT pg_backend_pid() AS pid", [], undefined)
  return JSON.stringify(rows)
})

/**
 * True if transactions of one session get changing servers, as behind a pooler in transaction mode: while the
 * other session holds a transaction open, one that is alone on its server stays on it.
 */
const isMultiplexed = Effect.fnUntraced(function* (
  one: SqlConnection.Connection,
  other: SqlConnection.Connection
) {
  const run = (sql: string) => other.executeUnprepared(sql, [], undefined)
  for (let round = 0; round < poolerRoundsMax; round++) {
    const before = yield* backendOf(one)
    yield* run("BEGIN")
    const others = yield* backendOf(other)
    const after = others === before ? before : yield* backendOf(one)
    yield* run("ROLLBACK")
    if (others === before || after !== before) return true
  }
  return false
})

/**
 * PgBouncer in statement mode refuses BEGIN and closes the connection, which a server that has just answered
 * doesn't.
 */
const isStatementMode = ({ message }: SqlError.SqlError): boolean =>
  /statement pooling|connection closed/i.test(message)

/** Fails where the service can't work with the server of DATABASE_URL, and changes nothing there. */
export const meetsRequirements = (
  address: DatabaseAddress,
  limits: ClientLimits
): Effect.Effect<void, DatabaseUnsuitable | DatabaseUnreachable> =>
  Effect.gen(function* () {
    const client = yield* makeDatabaseClient(address, { ...limits, connectionsMax: 2 })
    const [one, other] = yield* Effect.all([client.reserve, client.reserve])
    const rows = yield* one.executeUnprepared(factsQuery, [], undefined)
    const [facts] = yield* Effect.orDie(Schema.decodeUnknownEffect(Facts)(rows))
    const problem = problemOf(facts)
    const unsuitable = (message: string) =>
      new DatabaseUnsuitable({ message: `The database at ${shown(address)} can't be used. ${message}` })
    if (problem !== null) return yield* unsuitable(problem)
    const multiplexed = isMultiplexed(one, other).pipe(
      Effect.catchIf(isStatementMode, ({ message }) =>
        Effect.fail(
          unsuitable(
            `A connection pooler in statement mode, such as PgBouncer, seems to be in front of it: it ends a session that begins a transaction (${message}). ${poolerAdvice}`
          )
        )
      )
    )
    if (yield* multiplexed) {
      return yield* unsuitable(
        `A connection pooler in transaction mode, such as PgBouncer, is in front of it: one session gets changing servers. ${poolerAdvice}`
      )
    }
  }).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail(unreachable(address)(error))),
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    inRealTime
  )
