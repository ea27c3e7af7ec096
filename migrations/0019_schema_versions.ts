import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Which version of the service applied a migration, so that an older one can name the version that it needs.
  yield* sql`ALTER TABLE effect_sql_migrations ADD COLUMN version text`
})
