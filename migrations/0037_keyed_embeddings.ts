import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Requests for embeddings that have an Idempotency-Key are jobs, too. Their only event is the answer. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE response_jobs
    DROP CONSTRAINT response_jobs_kind_check,
    ADD CONSTRAINT response_jobs_kind_check CHECK (kind IN ('profile', 'question', 'chat', 'embeddings'))`
})
