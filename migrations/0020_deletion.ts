import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What is deleted keeps its row for a while, without its name: see src/erasure/Erasure. */
const marks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `files_to`: who gets the files of the user. Null: they are deleted.
  yield* sql`ALTER TABLE users
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN files_to uuid REFERENCES users (id) ON DELETE SET NULL`
  yield* sql`CREATE INDEX users_deleted ON users (id) WHERE deleted_at IS NOT NULL`

  yield* sql`ALTER TABLE organizations ADD COLUMN deleted_at timestamptz`
  yield* sql`ALTER TABLE projects ADD COLUMN deleted_at timestamptz`
})

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* marks

  // What was spent stays when the user, the key or the organization has gone. Without the keys a record of a request that ends
  // after its user was deleted can't fail, and no deletion looks through all records.
  yield* sql`ALTER TABLE usage_records
    ALTER COLUMN user_id DROP NOT NULL,
    ALTER COLUMN key_id DROP NOT NULL,
    DROP CONSTRAINT usage_records_user_id_fkey,
    DROP CONSTRAINT usage_records_organization_id_fkey`

  // Nothing reads who added a file: it was always the owner of the file.
  yield* sql`ALTER TABLE project_files
    ALTER COLUMN added_by DROP NOT NULL,
    DROP CONSTRAINT project_files_added_by_fkey`
  yield* sql`UPDATE project_files SET added_by = NULL`

  // Lists the conversations of a user, for operators and for the deletion.
  yield* sql`CREATE INDEX conversations_owner ON conversations (user_id, id)`
})
