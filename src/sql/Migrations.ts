import { Effect, Layer, Schedule, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import initial from "../../migrations/0001_initial.ts"
import files from "../../migrations/0002_files.ts"
import projects from "../../migrations/0003_projects.ts"
import retrieval from "../../migrations/0004_retrieval.ts"
import embeddings from "../../migrations/0005_embeddings.ts"
import allowances from "../../migrations/0006_allowances.ts"
import usageSource from "../../migrations/0007_usage_source.ts"
import storeBinding from "../../migrations/0008_store_binding.ts"
import retention from "../../migrations/0010_retention.ts"
import readingTurns from "../../migrations/0012_reading_turns.ts"
import jobQueues from "../../migrations/0013_job_queues.ts"
import audit from "../../migrations/0014_audit.ts"
import accounts from "../../migrations/0015_accounts.ts"
import keyLimits from "../../migrations/0016_key_limits.ts"
import identities from "../../migrations/0017_identities.ts"
import linkCreators from "../../migrations/0018_link_creators.ts"
import { inRealTime } from "../domain/Monotonic.ts"
import { Database } from "./Database.ts"
import { makeDatabaseClient, type DatabaseAddress } from "./DatabaseClient.ts"
import { isPassing, isUnavailable } from "./orUnavailable.ts"

/** Every migration, imported and not read from a directory, so that a bundle carries them. */
const migrations = {
  "0001_initial": initial,
  "0002_files": files,
  "0003_projects": projects,
  "0004_retrieval": retrieval,
  "0005_embeddings": embeddings,
  "0006_allowances": allowances,
  "0007_usage_source": usageSource,
  "0008_store_binding": storeBinding,
  "0010_retention": retention,
  "0012_reading_turns": readingTurns,
  "0013_job_queues": jobQueues,
  "0014_audit": audit,
  "0015_accounts": accounts,
  "0016_key_limits": keyLimits,
  "0017_identities": identities,
  "0018_link_creators": linkCreators
}

const newestKnown = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

/** The database was migrated by a newer version of the service; this one doesn't know its tables. */
export class SchemaTooNew extends Schema.TaggedError<SchemaTooNew>()("SchemaTooNew", {
  found: Schema.Int,
  known: Schema.Int
}) {
  override get message(): string {
    return `The database's schema has version ${this.found}, but this version of parley knows only ${this.known}: run the newer version, or restore a backup made before it`
  }
}

/** The tables could not be brought up to date; nothing was changed by the migration that failed. */
export class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

const table = "effect_sql_migrations"

/** Seconds that one statement of a migration may take, such as building an index on a large table. */
const statementSeconds = 600
/** Seconds of retries while another process is migrating, or the database is unavailable. */
const waitSeconds = 60

const Newest = Schema.Tuple([Schema.Struct({ newest: Schema.NullOr(Schema.Int) })])

const newestApplied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`SELECT 1 WHERE to_regclass(${table}) IS NOT NULL`
  if (found.length === 0) return 0
  const rows = yield* sql`SELECT max(migration_id) AS newest FROM ${sql(table)}`
  const [row] = yield* Schema.decodeUnknownEffect(Newest)(rows)
  return row.newest ?? 0
})

const run = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })

const migrateOnce = Effect.gen(function* () {
  const before = yield* newestApplied
  if (before > newestKnown) return yield* new SchemaTooNew({ found: before, known: newestKnown })
  // So a role that may not create tables can start the service, once the owner has migrated them.
  if (before === newestKnown) return
  yield* run
  // The migrator returns without an error while another one holds the lock.
  if ((yield* newestApplied) < newestKnown) return yield* new MigratorBusy()
})

const mayRetry = (error: SqlError.SqlError): boolean =>
  error.reason.operation === "connect" ? isPassing(error) : isUnavailable(error)

/** The migrator names the migration, and keeps what its statement failed with as the cause. */
const reasonOf = (error: Error): string =>
  SqlError.isSqlError(error.cause) ? `${error.message}: ${error.cause.message}` : error.message

class MigratorBusy extends Schema.TaggedError<MigratorBusy>()("MigratorBusy", {}) {}

/**
 * Brings the tables of the database at `address` up to date. Any number of processes may do so at once: one works, under
 * a lock on the table of migrations, and the others wait for it. Each migration is applied whole or not at all.
 */
export const migrate = (address: DatabaseAddress): Effect.Effect<void, SchemaTooNew | MigrationFailed> =>
  Effect.gen(function* () {
    const client = yield* makeDatabaseClient(address, {
      connectionsMax: 1,
      connectSeconds: 10,
      statementSeconds
    })
    yield* migrateOnce.pipe(
      Effect.retry({
        schedule: Schedule.spaced("500 millis").pipe(Schedule.upTo({ duration: `${waitSeconds} seconds` })),
        while: (error) => error._tag === "MigratorBusy" || (error._tag === "SqlError" && mayRetry(error))
      }),
      Effect.provideService(SqlClient.SqlClient, client)
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.catchIf(
      (error) => error._tag !== "SchemaTooNew",
      (cause) =>
        Effect.fail(
          new MigrationFailed({ message: `The database can't be migrated: ${reasonOf(cause)}`, cause })
        )
    ),
    Effect.withSpan("Migrations.migrate"),
    inRealTime
  )

/** Completes when the tables are up to date. */
export const layerMigrations: Layer.Layer<never, SchemaTooNew | MigrationFailed, Database> =
  Layer.effectDiscard(Effect.flatMap(Database, (database) => migrate(database.address)))
