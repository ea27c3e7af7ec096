import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Each move of the files to another kind of store begins a generation. Files of an earlier one are still in the old store.
  yield* sql`ALTER TABLE files ADD COLUMN store_generation integer NOT NULL DEFAULT 0`

  // `store_kind` is null before the first move: then the settings alone say where the files are. The old store is known until its
  // bytes are erased, and `moved_at` is null while a move is under way.
  yield* sql`ALTER TABLE file_store_binding
    ADD COLUMN generation integer NOT NULL DEFAULT 0,
    ADD COLUMN store_kind text,
    ADD COLUMN old_store_place text,
    ADD COLUMN moved_at timestamptz`

  // The kind of store that a running process could follow a move to.
  yield* sql`ALTER TABLE file_store_replicas ADD COLUMN move_to text`
})
