import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Conversations that people have in the web application, beside those of API requests. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `project_id`: whose files are searched for its questions. `unanswered`: the last question while it has no answer.
  yield* sql`ALTER TABLE conversations
    ADD COLUMN title text,
    ADD COLUMN project_id uuid REFERENCES projects (id) ON DELETE SET NULL,
    ADD COLUMN unanswered json`
  // The list of a user. A request that creates a hidden conversation writes neither of the two.
  yield* sql`CREATE INDEX conversations_listed ON conversations (user_id, updated_at DESC, id DESC) WHERE NOT hidden`
  yield* sql`CREATE INDEX conversations_project ON conversations (project_id, user_id, updated_at DESC, id DESC)
    WHERE project_id IS NOT NULL`
  // Only hidden ones end by their age.
  yield* sql`DROP INDEX conversations_idle`
  yield* sql`CREATE INDEX conversations_idle ON conversations (updated_at) WHERE hidden`

  // Headings of a file are text of it, and are no longer stored with a search that found them: they would outlive the file.
  yield* sql`UPDATE items SET item = jsonb_set(item::jsonb, '{results}', (
      SELECT coalesce(jsonb_agg(result #- '{attributes,section}' ORDER BY place), '[]')
      FROM jsonb_array_elements(item::jsonb -> 'results') WITH ORDINALITY AS found (result, place)
    ))::json
    WHERE item ->> 'type' = 'file_search_call' AND json_typeof(item -> 'results') = 'array'`

  // Which interface reads the request of a job, and whose answer it makes, as soon as that is known. No reference: a branch is stored
  // after its job has begun.
  yield* sql`ALTER TABLE response_jobs
    ADD COLUMN kind text NOT NULL DEFAULT 'profile' CHECK (kind IN ('profile', 'question')),
    ADD COLUMN conversation_id uuid`
  yield* sql`CREATE INDEX response_jobs_conversation ON response_jobs (conversation_id) WHERE conversation_id IS NOT NULL`
})
