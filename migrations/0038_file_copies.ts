import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Files move to another store while no service runs, so the columns of moves beside a running service go. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Some files would be in a store that this version doesn't look into.
  yield* sql`DO $$ BEGIN
    IF EXISTS (SELECT FROM file_store_binding WHERE old_store_place IS NOT NULL AND moved_at IS NULL) THEN
      RAISE EXCEPTION 'A move of the files to another store is unfinished: run "parley file move" to its end with the version that began it';
    END IF;
  END $$`

  // Copies of files in the store that they are being moved to. The files use them once all are there.
  yield* sql`CREATE TABLE file_copies (
    file_id uuid PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    store_id uuid NOT NULL,
    storage_key text NOT NULL
  )`

  yield* sql`ALTER TABLE files DROP COLUMN store_generation`
  yield* sql`ALTER TABLE file_store_binding DROP COLUMN generation, DROP COLUMN store_kind, DROP COLUMN moved_at`
  yield* sql`ALTER TABLE file_store_replicas DROP COLUMN move_to`
})
