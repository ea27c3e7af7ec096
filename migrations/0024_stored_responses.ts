import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** What is kept of a response besides its items, and of a conversation that a client created. */
const details = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `details`: what else the response said, to show it again; null in turns of earlier versions. `deleted_at`: there is no such
  // response any more, or the turn is a copy; its items are the context of later turns.
  yield* sql`ALTER TABLE turns ADD COLUMN details json, ADD COLUMN deleted_at timestamptz`

  // The client's own notes.
  yield* sql`ALTER TABLE conversations ADD COLUMN metadata json NOT NULL DEFAULT '{}'`
  // Those that a client created end by their age too.
  yield* sql`DROP INDEX conversations_idle`
  yield* sql`CREATE INDEX conversations_idle ON conversations (updated_at)`
})

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* details

  // Responses that are made apart from the request that asked for them. One process at a time runs a job: `lease_fence` grows
  // whenever it changes hands, and nobody holds it when `lease_until` is null or past. `key_hash` and `body_hash` are of the
  // Idempotency-Key and of what was asked by it.
  yield* sql`CREATE TABLE response_jobs (
    response_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    api_key_id uuid NOT NULL,
    background boolean NOT NULL,
    status text NOT NULL CHECK (status IN ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
    request json NOT NULL,
    failure json,
    key_hash bytea,
    body_hash bytea,
    lease_fence integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    runs integer NOT NULL DEFAULT 0,
    event_count integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
  ) WITH (fillfactor = 80)`
  yield* sql`CREATE UNIQUE INDEX response_jobs_key ON response_jobs (user_id, key_hash) WHERE key_hash IS NOT NULL`
  yield* sql`CREATE INDEX response_jobs_open ON response_jobs (user_id, response_id) WHERE ended_at IS NULL`
  yield* sql`CREATE INDEX response_jobs_owner ON response_jobs (user_id, response_id)`
  yield* sql`CREATE INDEX response_jobs_ended ON response_jobs (ended_at) WHERE ended_at IS NOT NULL`

  // The events of such a response, in batches; `position` is that of the first one.
  yield* sql`CREATE TABLE response_events (
    response_id uuid NOT NULL REFERENCES response_jobs (response_id) ON DELETE CASCADE,
    position integer NOT NULL,
    events json NOT NULL,
    PRIMARY KEY (response_id, position)
  )`
})
