import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // How often the operator has asked for the files of the settings to be read again. Each process compares it with what it has
  // done. Without a row it is 0.
  yield* sql`CREATE TABLE reload_requests (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    count bigint NOT NULL
  )`
})
