import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Finds the files of a user that wait to be read, oldest first: only a few of them are in the queue at a time.
  yield* sql`CREATE INDEX files_unread ON files (user_id, id) WHERE status = 'uploaded'`
})
