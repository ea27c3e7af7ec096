import { DatabaseUnavailable } from "../domain/Errors.ts"
import { inRealTime } from "../domain/Monotonic.ts"
import { startEmbeddedPostgres } from "../postgres/EmbeddedPostgres.ts"
import type { DataDirectoryInUse, EmbeddedPostgresFailed } from "../postgres/OwnerSocket.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import {
  databaseConnections,
  databaseConnectionsMax,
  databasePending,
  observe,
  observedGauge
} from "../telemetry/Instruments.ts"
import { makeDatabaseClient, type ClientLimits, type DatabaseAddress } from "./DatabaseClient.ts"
import { isPassing, orUnavailable } from "./orUnavailable.ts"
import {
  type DatabaseUnsuitable,
  type DatabaseUnreachable,
  meetsRequirements,
  readOnlyText,
  unreachable
} from "./ServerRequirements.ts"
import {
  Context,
  Effect,
  Fiber,
  identity,
  Layer,
  Schedule,
  Schema,
  Scope,
  Semaphore,
  type DateTime
} from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"

/** Shows how busy a pool is, while the scope is open. `takers` counts those that have a connection or wait for one. */
const observePool = (connectionsMax: number) => (takers: () => number) =>
  observe([
    observedGauge(databaseConnections.of("used"), () => Math.min(takers(), connectionsMax)),
    observedGauge(databasePending.of(), () => Math.max(0, takers() - connectionsMax)),
    observedGauge(databaseConnectionsMax.of(), () => connectionsMax)
  ])

export { orUnavailable } from "./orUnavailable.ts"

/** Seconds that a start waits for a database that is still coming up. */
const startWaitSeconds = 30
/** Seconds after which a ping counts as failed, however slow statements may be. */
const pingSeconds = 2
/** How often this process looks whether the database still answers, to log when that changes. */
const watchSeconds = 5

const PingRow = Schema.Tuple([Schema.Struct({ readOnly: Schema.Boolean })])

/** The PostgreSQL server that the service works with: the one of `DATABASE_URL`, or else the embedded one. */
export class Database extends Context.Service<
  Database,
  {
    /** Whether the database answers now and can be written to; fails within two seconds when not. */
    readonly ping: Effect.Effect<void, DatabaseUnavailable>
    /** Where the server is, so that another client can join it. */
    readonly address: DatabaseAddress
    /** Whether this process started the server, so that no other process works with it. */
    readonly isEmbedded: boolean
  }
>()("parley/sql/Database") {
  /** A client of the server at `address`, which must answer within half a minute. */
  static readonly layerAddress = (
    address: DatabaseAddress,
    limits: ClientLimits
  ): Layer.Layer<Database | SqlClient.SqlClient, DatabaseUnreachable> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const client = yield* makeDatabaseClient(
          address,
          limits,
          identity,
          observePool(limits.connectionsMax)
        ).pipe(Effect.mapError(unreachable(address)))
        yield* client`SELECT 1`.pipe(
          Effect.retry({
            schedule: Schedule.spaced("250 millis").pipe(
              Schedule.upTo({ duration: `${startWaitSeconds} seconds` })
            ),
            while: isPassing
          }),
          Effect.mapError(unreachable(address)),
          inRealTime
        )
        const scope = yield* Scope.Scope
        // One at a time, so that pings never take more than one connection from those who have work to do.
        const turns = yield* Semaphore.make(1)
        const asked = turns
          .withPermits(1)(client`SELECT current_setting('transaction_read_only')::bool AS read_only`)
          .pipe(
            Effect.flatMap(Schema.decodeUnknownEffect(PingRow)),
            Effect.flatMap(([{ readOnly }]) =>
              readOnly
                ? Effect.fail(new DatabaseUnavailable({ cause: new Error(readOnlyText) }))
                : Effect.void
            )
          )
        // A statement that hangs is cancelled, which takes seconds, and nobody who asks for readiness waits for that.
        const ping = Effect.acquireUseRelease(
          Effect.forkIn(asked, scope),
          (statement) =>
            Fiber.join(statement).pipe(
              Effect.timeoutOrElse({
                duration: `${pingSeconds} seconds`,
                orElse: () =>
                  Effect.fail(new DatabaseUnavailable({ cause: new Error("The ping took too long") }))
              })
            ),
          (statement) => Effect.sync(() => statement.interruptUnsafe())
        ).pipe(orUnavailable, Effect.asVoid, inRealTime)
        return Context.make(SqlClient.SqlClient, client).pipe(
          Context.add(Database, { ping, address, isEmbedded: !("url" in address) })
        )
      })
    ).pipe(Layer.provide(Reactivity.layer))

  static readonly layer: Layer.Layer<
    Database | SqlClient.SqlClient,
    DatabaseUnreachable | DatabaseUnsuitable | DataDirectoryInUse | EmbeddedPostgresFailed,
    AppConfig
  > = Layer.unwrap(
    Effect.gen(function* () {
      const { database, dataDir } = yield* AppConfig
      const address: DatabaseAddress =
        database.url === null
          ? yield* startEmbeddedPostgres({ dataDir, connectionsMax: database.connectionsMax, durable: true })
          : { url: database.url }
      const started = Database.layerAddress(address, database)
      const required =
        "url" in address ? Layer.effectDiscard(meetsRequirements(address, database)) : Layer.empty
      return watchLayer.pipe(Layer.provideMerge(required), Layer.provideMerge(started))
    })
  )
}

/** What the server, the system or the driver said. For the operator only. */
export const reasonOf = ({ cause }: DatabaseUnavailable): string =>
  cause instanceof Error ? cause.message : String(cause)

/** Logs once when the database can't be used any more, and once when it can again. */
const watchLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { ping } = yield* Database
    let answers = true
    yield* Effect.gen(function* () {
      const failure = yield* Effect.match(ping, { onFailure: reasonOf, onSuccess: () => null })
      if ((failure === null) === answers) return
      answers = failure === null
      yield* answers
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

const Report = Schema.Tuple([
  Schema.Struct({
    version: Schema.String,
    schemaVersion: Schema.Int,
    readOnly: Schema.Boolean,
    now: Schema.DateTimeUtcFromDate
  })
])

/** What the operator wants to know about the database. */
interface DatabaseFacts {
  /** The server's version, such as "18.4". */
  readonly version: string
  /** The number of the newest migration that was applied. */
  readonly schemaVersion: number
  /** Whether it takes no writes, as a standby does. */
  readonly readOnly: boolean
  /** The server's clock. */
  readonly now: DateTime.Utc
}

/** Looks at the database from outside the product. */
export class DatabaseReport extends Context.Service<
  DatabaseReport,
  { readonly facts: Effect.Effect<DatabaseFacts, DatabaseUnavailable> }
>()("parley/sql/DatabaseReport") {
  static readonly layer = Layer.effect(
    DatabaseReport,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // The table is the migrator's own.
      const facts = Effect.suspend(
        () => sql`
          SELECT current_setting('server_version') AS version, clock_timestamp() AS now,
            current_setting('transaction_read_only')::bool AS read_only,
            (SELECT max(migration_id) FROM effect_sql_migrations) AS schema_version`
      ).pipe(
        Effect.flatMap(Schema.decodeUnknownEffect(Report)),
        Effect.map(([report]) => report),
        orUnavailable,
        Effect.withSpan("DatabaseReport.facts")
      )
      return DatabaseReport.of({ facts })
    })
  )
}
