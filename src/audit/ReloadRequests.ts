import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditEntry } from "../domain/AuditEntry.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { makeAuditRecorder } from "./AuditRecorder.ts"

const Row = Schema.Struct({ count: Schema.Int })

const entry: AuditEntry = {
  action: "setting.reload",
  target: { id: "reload", name: "plans and models" },
  organization: null
}

/**
 * The table `reload_requests`, by which the processes of a database tell each other to read their files
 * again.
 */
export const makeReloadRequests = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder

  const count = sql`SELECT count::float8 AS count FROM reload_requests`.pipe(
    rowAs(Row),
    Effect.map((row) => row?.count ?? 0),
    orUnavailable,
    Effect.withSpan("ReloadRequests.count")
  )

  /** Returns the new count. */
  const add = audit
    .recording(
      sql`
        INSERT INTO reload_requests (count) VALUES (1)
        ON CONFLICT (single) DO UPDATE SET count = reload_requests.count + 1
        RETURNING count::float8 AS count`.pipe(rowAs(Row)),
      () => entry
    )
    .pipe(
      Effect.map((row) => row?.count ?? 0),
      orUnavailable,
      Effect.withSpan("ReloadRequests.add")
    )

  return { count, add }
})
