import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Null: the service itself, or the holder of the operator's key. The links of a user who loses a right are removed.
  yield* sql`ALTER TABLE links ADD COLUMN created_by uuid REFERENCES users (id) ON DELETE CASCADE`
  yield* sql`CREATE INDEX links_creator ON links (created_by) WHERE created_by IS NOT NULL`

  // One organization's invitation doesn't void another's.
  yield* sql`DROP INDEX links_invitation`
  yield* sql`CREATE UNIQUE INDEX links_invitation ON links (lower(email), organization_id) WHERE kind = 'invitation'`
})
