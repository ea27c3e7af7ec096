import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The images of messages. Items name them by `id`, which repeats where a later turn or a branch has the same image.
  yield* sql`CREATE TABLE images (
    response_id uuid NOT NULL REFERENCES turns (response_id) ON DELETE CASCADE,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    media_type text NOT NULL,
    bytes bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (response_id, id)
  )`
  // They are compressed already.
  yield* sql`ALTER TABLE images ALTER COLUMN bytes SET STORAGE EXTERNAL`
  yield* sql`CREATE INDEX images_owner ON images (user_id, id)`
})
