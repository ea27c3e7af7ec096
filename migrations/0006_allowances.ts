import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Where a user's limit is another one than the settings say. `tokens` is null for a user without that limit; no row
  // means what the settings say.
  yield* sql`CREATE TABLE token_limits (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    span text NOT NULL CHECK (span IN ('daily', 'monthly')),
    tokens bigint CHECK (tokens >= 0),
    PRIMARY KEY (user_id, span)
  )`

  // What a user spent in the newest day and month that were seen, and what requests under way hold of them. It is the
  // one row that decides, so that an update of it is exact however many ask at once. Windows only go forward. `granted`
  // is what the latest request was given. A user who never had a limit has no row.
  yield* sql`CREATE TABLE token_counters (
    user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    day date NOT NULL,
    day_used bigint NOT NULL,
    day_reserved bigint NOT NULL DEFAULT 0,
    month date NOT NULL,
    month_used bigint NOT NULL,
    month_reserved bigint NOT NULL DEFAULT 0,
    granted bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70)`

  // The parts of what the counters call reserved. A request has one for its first call of a model, and may get more for
  // later ones; each belongs to the windows in which it was made, and lapses when nobody renews it.
  yield* sql`CREATE TABLE token_reservations (
    response_id uuid NOT NULL,
    part integer NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day date NOT NULL,
    month date NOT NULL,
    tokens bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (response_id, part)
  ) WITH (fillfactor = 70)`
  yield* sql`CREATE INDEX token_reservations_user ON token_reservations (user_id)`

  yield* sql`ALTER TABLE usage_records
    ADD COLUMN tool_calls integer NOT NULL DEFAULT 0,
    ADD COLUMN latency_millis integer`
  // The records come in the order of time, so this finds a span of it and costs next to nothing.
  yield* sql`CREATE INDEX usage_records_time ON usage_records USING brin (created_at)`
})
