import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The header of the table that a passage is from. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // In the order of `headings`: null where a passage is not from a table, or begins with the header itself.
  yield* sql`ALTER TABLE retrieval_passages ADD COLUMN table_headers jsonb NOT NULL DEFAULT '[]'`
})
