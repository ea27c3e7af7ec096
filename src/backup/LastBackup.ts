import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"

/** A backup that was made and verified. */
const LastBackup = Schema.Struct({
  at: Schema.DateTimeUtcFromDate,
  path: Schema.String,
  bytes: Schema.Finite,
  encrypted: Schema.Boolean
})
export type LastBackup = typeof LastBackup.Type

/** The moment that the newest good backup shows, as the audit log has it; null where there is none. */
export const lastBackup: Effect.Effect<LastBackup | null, DatabaseUnavailable, SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const row = yield* sql`SELECT (details ->> 'at')::timestamptz AS at, target_name AS path,
        (details ->> 'bytes')::float8 AS bytes, (details ->> 'encrypted')::bool AS encrypted
      FROM audit_log WHERE action = 'backup.create' ORDER BY id DESC LIMIT 1`.pipe(
      rowAs(LastBackup),
      orUnavailable
    )
    return row ?? null
  })
