import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The length of a job's request, and the part that is shown of a long one, so that reading a job doesn't read its
 * whole request. Jobs from before have neither, and are gone after a day.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE response_jobs ADD COLUMN request_bytes integer, ADD COLUMN short_request json`
})
