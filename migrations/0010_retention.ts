import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Finds the conversations that have not been used for long, for the sweep.
  yield* sql`CREATE INDEX conversations_idle ON conversations (updated_at) WHERE hidden`

  // When a file ends by itself; null for one that stays until it is deleted.
  yield* sql`ALTER TABLE files ADD COLUMN expires_at timestamptz`
  yield* sql`CREATE INDEX files_expiring ON files (expires_at) WHERE expires_at IS NOT NULL`

  // The passages that a search found are no longer stored with a turn: they would outlive their file. Those that were
  // stored lose their text; which file was found stays.
  yield* sql`UPDATE items SET item = jsonb_set(item::jsonb, '{results}', (
      SELECT coalesce(jsonb_agg(jsonb_set(result, '{text}', '""') ORDER BY place), '[]')
      FROM jsonb_array_elements(item::jsonb -> 'results') WITH ORDINALITY AS found (result, place)
    ))::json
    WHERE item ->> 'type' = 'file_search_call' AND json_typeof(item -> 'results') = 'array'`
})
