import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What clients of vector stores note of projects, and the files that they add together. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE projects
    ADD COLUMN description text,
    ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}'`

  yield* sql`CREATE TABLE file_batches (
    id uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    cancelled_at timestamptz
  )`
  yield* sql`CREATE INDEX file_batches_project ON file_batches (project_id, created_at)`

  // They refer to the file and not to its row in the project: what was taken out again still counts. `is_new`: the batch added
  // the file, so that its end takes it out.
  yield* sql`CREATE TABLE file_batch_files (
    batch_id uuid NOT NULL REFERENCES file_batches (id) ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    is_new boolean NOT NULL,
    PRIMARY KEY (batch_id, file_id)
  )`
  yield* sql`CREATE INDEX file_batch_files_file ON file_batch_files (file_id)`
})
