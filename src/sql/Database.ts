import {
  Context,
  type DateTime,
  Effect,
  Fiber,
  identity,
  Layer,
  Redacted,
  Schedule,
  Schema,
  Semaphore
} from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { DatabaseUnavailable } from "../domain/Errors.ts"
import type { DataDirectoryInUse } from "../postgres/DirectoryOwner.ts"
import { findEmbedded, startEmbeddedPostgres } from "../postgres/EmbeddedPostgres.ts"
import type { EmbeddedPostgresFailed } from "../postgres/PostgresBinaries.ts"
import { inRealTime } from "../runtime/Monotonic.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import {
  databaseConnections,
  databaseConnectionsMax,
  databasePending,
  observe,
  observedGauge
} from "../telemetry/Instruments.ts"
import { type ClientLimits, type DatabaseAddress, makeDatabaseClient } from "./DatabaseClient.ts"
import { isPassing, orUnavailable } from "./orUnavailable.ts"
import {
  type DatabaseUnreachable,
  type DatabaseUnsuitable,
  meetsRequirements,
  readOnlyText,
  unreachable,
  unreachableText
} from "./ServerRequirements.ts"

/** Seconds that a start waits for a database that is still starting. */
const startWaitSeconds = 30
/** Seconds after which a start says that the database has not answered. */
const noticeSeconds = 3
/** Seconds after which a ping counts as failed, however slow statements may be. */
const pingSeconds = 2
/** Seconds between two pings that only log when the answer changes. */
const watchSeconds = 5

/** Facts about the database for the operator. */
interface DatabaseFacts {
  /** The server's version, such as "18.4". */
  readonly version: string
  /** The number of the newest migration that was applied. */
  readonly schemaVersion: number
  /** True if it takes no writes, as a standby does. */
  readonly readOnly: boolean
  /** The server's clock. */
  readonly now: DateTime.Utc
}

/** The PostgreSQL server that the service works with: the one of `DATABASE_URL`, or else the embedded one. */
export class Database extends Context.Service<
  Database,
  {
    /** Succeeds if the database answers and can be written to; fails within two seconds otherwise. */
    readonly ping: Effect.Effect<void, DatabaseUnavailable>
    readonly facts: Effect.Effect<DatabaseFacts, DatabaseUnavailable>
    /** The server's address, for other clients of it. */
    readonly address: DatabaseAddress
    /** True if this process started the server, so that no other process uses it. */
    readonly isEmbedded: boolean
  }
>()("parley/sql/Database") {
  /**
   * A client of the server at `address`, which must answer within half a minute. `isEmbedded` says that this
   * process has started the server.
   */
  static readonly layerAddress = (
    address: DatabaseAddress,
    limits: ClientLimits,
    isEmbedded = false
  ): Layer.Layer<Database | SqlClient.SqlClient, DatabaseUnreachable> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { connectionsMax } = limits
        const client = yield* makeDatabaseClient(address, limits, identity, observePool(connectionsMax))
        yield* connected(client, address)
        const database = {
          ping: yield* makePing(client),
          facts: factsOf(client),
          address,
          isEmbedded
        }
        return Context.make(SqlClient.SqlClient, client).pipe(Context.add(Database, database))
      }).pipe(Effect.mapError(unreachable(address)))
    ).pipe(Layer.provide(Reactivity.layer))

  static readonly layer: Layer.Layer<
    Database | SqlClient.SqlClient,
    DatabaseUnreachable | DatabaseUnsuitable | DataDirectoryInUse | EmbeddedPostgresFailed,
    AppConfig
  > = Layer.unwrap(
    Effect.gen(function* () {
      const { dataDir, database } = yield* AppConfig
      const { connectionsMax, url } = database
      const address: DatabaseAddress =
        url === null ? yield* startEmbeddedPostgres({ dataDir, connectionsMax, durable: true }) : { url }
      const required =
        "url" in address ? Layer.effectDiscard(meetsRequirements(address, database)) : Layer.empty
      return watchLayer.pipe(
        Layer.provideMerge(required),
        Layer.provideMerge(Database.layerAddress(address, database, !("url" in address)))
      )
    })
  )

  /**
   * The same for a command that may work beside a service: an embedded server that runs is used, and no
   * second one is started.
   */
  static readonly layerBeside: typeof Database.layer = Layer.unwrap(
    Effect.gen(function* () {
      const { database, dataDir } = yield* AppConfig
      const running = database.url === null ? (yield* findEmbedded(dataDir)).running : null
      return running === null ? Database.layer : Database.layerAddress(running, database)
    })
  )
}

/**
 * Retries until the database answers. The first failure of a DATABASE_URL is logged, as is an answer that
 * takes long.
 */
const connected = Effect.fnUntraced(function* (client: SqlClient.SqlClient, address: DatabaseAddress) {
  let isSaid = false
  const say = (reason: string) =>
    Effect.suspend(() => {
      if (isSaid || !("url" in address)) return Effect.void
      isSaid = true
      return Effect.logWarning(`${unreachableText(address, reason)} ${waitingText}`)
    })
  const answered = client`SELECT 1`.pipe(
    Effect.tapError((error) => (isPassing(error) ? say(error.message) : Effect.void)),
    Effect.retry({
      schedule: Schedule.spaced("250 millis").pipe(
        Schedule.upTo({ duration: `${startWaitSeconds} seconds` })
      ),
      while: isPassing
    })
  )
  const silent = Effect.sleep(`${noticeSeconds} seconds`).pipe(
    Effect.andThen(say("There is no answer yet")),
    Effect.andThen(Effect.never)
  )
  yield* Effect.raceFirst(answered, silent).pipe(inRealTime)
})

const waitingText = `The start tries again for ${startWaitSeconds} seconds: start PostgreSQL, or correct the host and port in DATABASE_URL.`

/** The place of an operator's own database, for messages. It holds no secret. */
export const placeOf = (address: Redacted.Redacted): string => {
  const url = URL.parse(Redacted.value(address))
  return url === null
    ? "the database of DATABASE_URL"
    : `the database ${url.pathname.slice(1)} at ${url.host}`
}

/** The place of the database of these settings, for messages. It holds no secret. */
export const databasePlace = ({ database, dataDir }: Settings): string =>
  database.url === null ? `the embedded database in ${dataDir}` : placeOf(database.url)

/**
 * Shows how busy a pool is, while the scope is open. `takers` counts those that have a connection or wait for
 * one.
 */
const observePool = (connectionsMax: number) => (takers: () => number) =>
  observe([
    observedGauge(databaseConnections.of("used"), () => Math.min(takers(), connectionsMax)),
    observedGauge(databasePending.of(), () => Math.max(0, takers() - connectionsMax)),
    observedGauge(databaseConnectionsMax.of(), () => connectionsMax)
  ])

const unavailable = (text: string) => Effect.fail(new DatabaseUnavailable({ cause: new Error(text) }))

const PingRow = Schema.Tuple([Schema.Struct({ readOnly: Schema.Boolean })])

const makePing = Effect.fnUntraced(function* (client: SqlClient.SqlClient) {
  const scope = yield* Effect.scope
  // One at a time, so that pings never take more than one connection from the requests.
  const permit = yield* Semaphore.make(1)
  const asked = client`SELECT current_setting('transaction_read_only')::bool AS read_only`.pipe(
    permit.withPermits(1),
    Effect.flatMap(Schema.decodeUnknownEffect(PingRow)),
    Effect.flatMap(([{ readOnly }]) => (readOnly ? unavailable(readOnlyText) : Effect.void))
  )
  // Canceling a statement that hangs takes seconds, for which a readiness probe doesn't wait.
  return Effect.acquireUseRelease(
    Effect.forkIn(asked, scope),
    (statement) =>
      Fiber.join(statement).pipe(
        Effect.timeoutOrElse({
          duration: `${pingSeconds} seconds`,
          orElse: () => unavailable("The ping took too long")
        })
      ),
    (statement) => Effect.sync(() => statement.interruptUnsafe())
  ).pipe(orUnavailable, Effect.asVoid, inRealTime)
})

const FactsRow = Schema.Tuple([
  Schema.Struct({
    version: Schema.String,
    schemaVersion: Schema.Int,
    readOnly: Schema.Boolean,
    now: Schema.DateTimeUtcFromDate
  })
])

const factsOf = (client: SqlClient.SqlClient): Effect.Effect<DatabaseFacts, DatabaseUnavailable> =>
  Effect.suspend(
    () => client`
      SELECT current_setting('server_version') AS version, clock_timestamp() AS now,
        current_setting('transaction_read_only')::bool AS read_only,
        (SELECT max(migration_id) FROM effect_sql_migrations) AS schema_version`
  ).pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(FactsRow)),
    Effect.map(([facts]) => facts),
    orUnavailable,
    Effect.withSpan("Database.facts")
  )

/** The sentence of the server, the system or the driver. Only an operator may see it. */
export const reasonOf = ({ cause }: DatabaseUnavailable): string =>
  cause instanceof Error ? cause.message : String(cause)

/** Logs once when the database becomes unusable, and once when it can be used again. */
const watchLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { ping } = yield* Database
    let isUsable = true
    yield* Effect.gen(function* () {
      const failure = yield* Effect.match(ping, { onFailure: reasonOf, onSuccess: () => null })
      if ((failure === null) === isUsable) return
      isUsable = failure === null
      yield* isUsable
        ? Effect.logInfo("The database can be used again.")
        : Effect.logError(`The database can't be used: ${failure}`)
    }).pipe(
      Effect.andThen(Effect.sleep(`${watchSeconds} seconds`)),
      Effect.forever,
      inRealTime,
      Effect.forkScoped
    )
  })
)
