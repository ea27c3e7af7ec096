import { Context, type DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { orUnavailable } from "./orUnavailable.ts"

const Report = Schema.Tuple([
  Schema.Struct({
    version: Schema.String,
    schemaVersion: Schema.Int,
    readOnly: Schema.Boolean,
    now: Schema.DateTimeUtcFromDate
  })
])

/** What the operator wants to know about the database. */
export interface DatabaseFacts {
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
