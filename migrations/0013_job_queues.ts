import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A file that is to be indexed knows the id of its job from the beginning, whether or not the job is in the queue yet.
  yield* sql`ALTER TABLE project_files ALTER COLUMN job SET DEFAULT gen_random_uuid()`
  yield* sql`UPDATE project_files SET job = gen_random_uuid() WHERE status = 'pending' AND job IS NULL`

  // Jobs of the first versions don't name the user, whose turn they are.
  yield* sql`UPDATE file_jobs SET element = jsonb_build_object('fileId', files.id, 'userId', files.user_id)::text
    FROM files WHERE files.id::text = file_jobs.id AND file_jobs.state = 'pending'`

  // Files are embedded by jobs in the queue, which counts the attempts.
  yield* sql`ALTER TABLE retrieval_files DROP COLUMN embedding_until, DROP COLUMN embedding_attempts`
})
