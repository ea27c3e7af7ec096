import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** A conversation keeps all its questions without an answer, oldest first: a list in place of the last one alone. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`UPDATE conversations
    SET unanswered = json_build_array(
      unanswered::jsonb || jsonb_build_object('createdAt', (extract(epoch FROM updated_at) * 1000)::bigint)
    )
    WHERE unanswered IS NOT NULL`
})
