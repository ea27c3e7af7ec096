import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Keys of operators, by the SHA-256 of each. The key of the settings or of a data directory isn't here.
  yield* sql`CREATE TABLE admin_keys (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    hint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
  )`
  // The audit log names operators by their keys.
  yield* sql`CREATE UNIQUE INDEX admin_keys_name ON admin_keys (lower(name)) WHERE revoked_at IS NULL`

  yield* sql`ALTER TABLE audit_log ADD COLUMN actor_name text`
  yield* sql`CREATE INDEX audit_log_actor_name ON audit_log (lower(actor_name), id) WHERE actor_name IS NOT NULL`
})
