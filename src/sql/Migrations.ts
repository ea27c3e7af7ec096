import { Effect, Layer, Record, Schedule, Schema } from "effect"
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
import schemaVersions from "../../migrations/0019_schema_versions.ts"
import deletion from "../../migrations/0020_deletion.ts"
import adminKeys from "../../migrations/0021_admin_keys.ts"
import fileMoves from "../../migrations/0022_file_moves.ts"
import reloadRequests from "../../migrations/0023_reload_requests.ts"
import storedResponses from "../../migrations/0024_stored_responses.ts"
import images from "../../migrations/0025_images.ts"
import ownConversations from "../../migrations/0026_own_conversations.ts"
import tableHeaders from "../../migrations/0027_table_headers.ts"
import unansweredQuestions from "../../migrations/0028_unanswered_questions.ts"
import indexWrites from "../../migrations/0029_index_writes.ts"
import inventedAnswers from "../../migrations/0031_invented_answers.ts"
import rounds from "../../migrations/0032_rounds.ts"
import cachedTokens from "../../migrations/0033_cached_tokens.ts"
import keyedChats from "../../migrations/0034_keyed_chats.ts"
import fileAttributes from "../../migrations/0035_file_attributes.ts"
import vectorStores from "../../migrations/0036_vector_stores.ts"
import keyedEmbeddings from "../../migrations/0037_keyed_embeddings.ts"
import fileCopies from "../../migrations/0038_file_copies.ts"
import shortRequests from "../../migrations/0039_short_requests.ts"
import { inRealTime } from "../runtime/Monotonic.ts"
import { buildText, thisBuild } from "../settings/Build.ts"
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
  "0018_link_creators": linkCreators,
  "0019_schema_versions": schemaVersions,
  "0020_deletion": deletion,
  "0021_admin_keys": adminKeys,
  "0022_file_moves": fileMoves,
  "0023_reload_requests": reloadRequests,
  "0024_stored_responses": storedResponses,
  "0025_images": images,
  "0026_own_conversations": ownConversations,
  "0027_table_headers": tableHeaders,
  "0028_unanswered_questions": unansweredQuestions,
  "0029_index_writes": indexWrites,
  "0031_invented_answers": inventedAnswers,
  "0032_rounds": rounds,
  "0033_cached_tokens": cachedTokens,
  "0034_keyed_chats": keyedChats,
  "0035_file_attributes": fileAttributes,
  "0036_vector_stores": vectorStores,
  "0037_keyed_embeddings": keyedEmbeddings,
  "0038_file_copies": fileCopies,
  "0039_short_requests": shortRequests
}

const numberOf = (name: string): number => Number.parseInt(name, 10)

/** The schema of this version: the number of its newest migration. */
export const newestKnown = Math.max(...Object.keys(migrations).map(numberOf))

/** The database was migrated by a newer version of the service, whose tables this version can't read. */
class SchemaTooNew extends Schema.TaggedError<SchemaTooNew>()("SchemaTooNew", {
  found: Schema.Int,
  known: Schema.Int,
  /**
   * The build that migrated it; null where the database doesn't say. Older builds are recorded without their
   * commit.
   */
  writtenBy: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const by = this.writtenBy === null ? "" : `, written by parley ${this.writtenBy}`
    const needed = this.writtenBy === null ? "a newer build" : "that build or a newer one"
    return (
      `The database has schema ${this.found}${by}, but this build, parley ${buildText(thisBuild)}, knows schemas up to ${this.known}: ` +
      `run ${needed}, or restore a backup made before it`
    )
  }
}

/** The table that exists from the beginning of a restore to its end. */
export const restoreTable = "parley_restore"

/** A restore into the database has not come to its end: a part of the data may be missing. */
class RestoreUnfinished extends Schema.TaggedError<RestoreUnfinished>()("RestoreUnfinished", {}) {
  override get message(): string {
    return "A restore into the database is still running, or was cut off: run `parley restore FILE` again with the same settings. It removes what it has restored so far, and begins anew"
  }
}

/** The tables could not be brought up to date; nothing was changed by the migration that failed. */
class MigrationFailed extends Schema.TaggedError<MigrationFailed>()("MigrationFailed", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

const table = "effect_sql_migrations"

/** Seconds that one statement of a migration may take, such as building an index on a large table. */
const statementSeconds = 600
/** Seconds of retries while another process is migrating, or the database is unavailable. */
const waitSeconds = 60

const Newest = Schema.Tuple([
  Schema.Struct({ newest: Schema.NullOr(Schema.Int), version: Schema.NullOr(Schema.String) })
])

const nothingApplied = { newest: 0, version: null }

const hasTable = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql`SELECT 1 WHERE to_regclass(${name}) IS NOT NULL`
  return found.length > 0
})

/** The newest migration that was applied, and by which build. Older tables have no column for that. */
const newestApplied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* hasTable(table))) return nothingApplied
  const rows = yield* sql`SELECT max(migration_id) AS newest,
      (SELECT to_jsonb(m) ->> 'version' FROM ${sql(table)} m ORDER BY migration_id DESC LIMIT 1) AS version
    FROM ${sql(table)}`
  const [row] = yield* Schema.decodeUnknownEffect(Newest)(rows)
  return row.newest === null ? nothingApplied : { ...row, newest: row.newest }
})

/** The migrations that a database needs. */
export interface MigrationPlan {
  /** The number of the newest migration that was applied; 0 in an empty database. */
  readonly before: number
  /** The number of the newest migration of this version. */
  readonly after: number
  /** Pending migrations in the order in which they run. */
  readonly pending: ReadonlyArray<string>
}

const planUpTo = Effect.fnUntraced(function* (after: number) {
  const { newest, version } = yield* newestApplied
  if (newest > newestKnown)
    return yield* new SchemaTooNew({ found: newest, known: newestKnown, writtenBy: version })
  const pending = Object.keys(migrations).filter((name) => numberOf(name) > newest && numberOf(name) <= after)
  return { before: newest, after, pending } satisfies MigrationPlan
})

/**
 * A restore may begin while a start migrates, and then finds the tables: so this is asked before and after a
 * migration.
 */
export const refuseUnfinished = Effect.flatMap(hasTable(restoreTable), (found) =>
  found ? Effect.fail(new RestoreUnfinished()) : Effect.void
)

const planOf = Effect.andThen(refuseUnfinished, planUpTo(newestKnown))

/** Called with each migration before it runs. */
type OnMigration = (name: string, plan: MigrationPlan) => Effect.Effect<void>

const run = (plan: MigrationPlan, onMigration: OnMigration) => {
  const announced = Record.map(
    Record.filter(migrations, (_, name) => numberOf(name) <= plan.after),
    (migration, name) => Effect.andThen(onMigration(name, plan), migration)
  )
  return Migrator.make({})({ loader: Migrator.fromRecord(announced), table })
}

const runPending = Effect.fnUntraced(function* (plan: MigrationPlan, onMigration: OnMigration) {
  // So a role that may not create tables can start the service, once the owner has migrated them.
  if (plan.pending.length === 0) return
  yield* run(plan, onMigration)
  // The migrator returns without an error while another one holds the lock.
  if ((yield* planUpTo(plan.after)).pending.length > 0) return yield* new MigratorBusy()
  // The tables of older versions have no column for it.
  if (plan.after < newestKnown) return
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE ${sql(table)} SET version = ${buildText(thisBuild)}
    WHERE migration_id > ${plan.before} AND version IS NULL`
})

const migrateOnce = Effect.fnUntraced(function* (onMigration: OnMigration) {
  const plan = yield* planOf
  yield* runPending(plan, onMigration)
  yield* refuseUnfinished
  return plan
})

const mayRetry = (error: SqlError.SqlError): boolean =>
  error.reason.operation === "connect" ? isPassing(error) : isUnavailable(error)

/** The migrator's message names the migration. Its cause is the failure of the statement. */
const reasonOf = (error: Error): string =>
  SqlError.isSqlError(error.cause) ? `${error.message}: ${error.cause.message}` : error.message

class MigratorBusy extends Schema.TaggedError<MigratorBusy>()("MigratorBusy", {}) {}

/** One connection, whose statements may take long. */
const withClient = <A, E extends Error>(
  address: DatabaseAddress,
  effect: Effect.Effect<A, E | MigratorBusy | SqlError.SqlError, SqlClient.SqlClient>
) =>
  Effect.gen(function* () {
    const client = yield* makeDatabaseClient(address, {
      connectionsMax: 1,
      connectSeconds: 10,
      statementSeconds
    })
    return yield* effect.pipe(
      Effect.retry({
        schedule: Schedule.spaced("500 millis").pipe(Schedule.upTo({ duration: `${waitSeconds} seconds` })),
        while: (error) => error instanceof MigratorBusy || (SqlError.isSqlError(error) && mayRetry(error))
      }),
      Effect.provideService(SqlClient.SqlClient, client)
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.mapError((cause) =>
      cause instanceof SchemaTooNew || cause instanceof RestoreUnfinished
        ? cause
        : new MigrationFailed({ message: `The database can't be migrated: ${reasonOf(cause)}`, cause })
    ),
    inRealTime
  )

/** The reasons why a database can't be migrated. */
type MigrationRefused = SchemaTooNew | RestoreUnfinished | MigrationFailed

/** Returns the plan of `migrate`. Nothing is changed. */
export const plannedMigrations = (address: DatabaseAddress): Effect.Effect<MigrationPlan, MigrationRefused> =>
  withClient(address, planOf).pipe(Effect.withSpan("Migrations.plan"))

/**
 * Brings the tables of the database at `address` up to date, and gives what there was to do. Any number of
 * processes may do so at once: one works, under a lock on the table of migrations, and the others wait for
 * it. All pending migrations are one transaction: a process that is killed leaves the database as it was.
 */
export const migrate = (
  address: DatabaseAddress,
  onMigration: OnMigration = () => Effect.void
): Effect.Effect<MigrationPlan, MigrationRefused> =>
  withClient(address, migrateOnce(onMigration)).pipe(Effect.withSpan("Migrations.migrate"))

/** Migrates a database that a restore fills, up to the migration of this number. */
export const migrateRestored = (
  address: DatabaseAddress,
  newest: number = newestKnown
): Effect.Effect<void, MigrationRefused> =>
  withClient(
    address,
    Effect.flatMap(planUpTo(newest), (plan) => runPending(plan, () => Effect.void))
  ).pipe(Effect.withSpan("Migrations.migrateRestored"))

/** A new database gets its tables silently. */
const logMigration: OnMigration = (name, { before }) =>
  before === 0 ? Effect.void : Effect.logInfo(`Migrating the database: ${name}.`)

/** Completes when the tables are up to date. */
export const layerMigrations: Layer.Layer<never, MigrationRefused, Database> = Layer.effectDiscard(
  Effect.flatMap(Database, ({ address }) => migrate(address, logMigration))
)
