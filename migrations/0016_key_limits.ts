import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Null: no limit besides those of the key's user.
  yield* sql`ALTER TABLE api_keys
    ADD COLUMN daily_tokens bigint CHECK (daily_tokens > 0),
    ADD COLUMN monthly_tokens bigint CHECK (monthly_tokens > 0),
    ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0)`

  // The counters are those of users and of keys: a key that ever had a token limit has a row, as a user has. One table, so that
  // the rows of both are locked in one order.
  yield* sql`ALTER TABLE token_counters DROP CONSTRAINT token_counters_user_id_fkey`
  yield* sql`ALTER TABLE token_counters RENAME COLUMN user_id TO owner_id`
  yield* sql`ALTER TABLE token_counters DROP COLUMN granted`

  // The key, if the reservation counts for the key as well.
  yield* sql`ALTER TABLE token_reservations ADD COLUMN key_id uuid`

  // The requests of a key in the minute that began at `began`. A crash of PostgreSQL empties an unlogged table, which forgives
  // the requests of a minute.
  yield* sql`CREATE UNLOGGED TABLE key_minutes (
    key_id uuid PRIMARY KEY REFERENCES api_keys (id) ON DELETE CASCADE,
    began timestamptz NOT NULL,
    requests integer NOT NULL
  ) WITH (fillfactor = 70)`
})
