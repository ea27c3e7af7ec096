import { Effect } from "effect"
import { PersistedQueue } from "effect/persistence"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE projects (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE UNIQUE INDEX projects_name ON projects (organization_id, lower(name))`

  yield* sql`CREATE TABLE project_members (
    project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, user_id)
  )`
  yield* sql`CREATE INDEX project_members_user ON project_members (user_id)`

  // The corpus of a project. What an index keeps of a file refers to its row here, so that it goes with the row and can't
  // come after it. `job` names the one job that may still change the row; a pending row without one waits for its text.
  // `index_version` says which text was indexed how, and `chunks` counts what came out; both are those of the last time.
  yield* sql`CREATE TABLE project_files (
    project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    added_by uuid NOT NULL REFERENCES users (id),
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'indexed', 'error')),
    status_details text,
    chunks integer CHECK (chunks >= 0),
    index_version text,
    job uuid,
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, file_id)
  )`
  yield* sql`CREATE INDEX project_files_file ON project_files (file_id)`
  // Finds the files that wait for their text, and tells whether a project has any that are not searchable yet.
  yield* sql`CREATE INDEX project_files_pending ON project_files (project_id, file_id) WHERE status = 'pending'`

  // The queue of the files that are to be indexed. Its tables are Effect's own; they are made here, so that processes which
  // start at the same moment find them in place.
  yield* Effect.scoped(PersistedQueue.makeStoreSql({ tableName: "index_jobs" }))
})
