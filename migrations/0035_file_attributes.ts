import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What is noted of the files of projects, so that searches can choose files by it: see src/domain/FileAttributes. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE project_files ADD COLUMN attributes jsonb NOT NULL DEFAULT '{}'`
})
