import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Which store the files of this database are in. The store holds `database_id` in turn, so that neither is used with
  // another one by mistake. The ids are written at a start and not here: a copy of a fresh database gets its own.
  yield* sql`CREATE TABLE file_store_binding (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    database_id uuid NOT NULL,
    store_id uuid,
    store_place text,
    bound_at timestamptz,
    swept_at timestamptz
  )`

  // Since when a blob has been in the trash, for installations that keep files in the database.
  yield* sql`ALTER TABLE file_blobs ADD COLUMN trashed_at timestamptz`
})
