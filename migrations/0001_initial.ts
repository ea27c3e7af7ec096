import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE organizations (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    plan text NOT NULL DEFAULT 'default',
    created_at timestamptz NOT NULL DEFAULT now()
  )`

  yield* sql`CREATE TABLE users (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations (id),
    email text NOT NULL,
    disabled_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE UNIQUE INDEX users_email ON users (lower(email))`

  // Only the SHA-256 of a key is kept; `hint` is its last four characters, for people to tell keys apart.
  yield* sql`CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    hint text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
  )`
  yield* sql`CREATE INDEX api_keys_user ON api_keys (user_id)`

  // The lease columns give one request at a time the right to add a turn: `lease_fence` grows whenever it changes hands,
  // and nobody holds it when `lease_until` is null or past. Neither is indexed, so that renewing it stays cheap.
  yield* sql`CREATE TABLE conversations (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    hidden boolean NOT NULL,
    system_message text,
    turn_count integer NOT NULL DEFAULT 0,
    lease_fence integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 80)`
  // Finds the hidden conversations that never got a turn, for the sweep.
  yield* sql`CREATE INDEX conversations_unused ON conversations (created_at) WHERE hidden AND turn_count = 0`

  // A turn is one row here and its items; both are written in one statement.
  yield* sql`CREATE TABLE turns (
    response_id uuid PRIMARY KEY,
    conversation_id uuid NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    user_id uuid NOT NULL,
    position integer NOT NULL,
    model text NOT NULL,
    prompt_tokens integer NOT NULL CHECK (prompt_tokens >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (conversation_id, position)
  )`

  // `side` is 'input' or 'output'; `position` counts within the side. An item keeps its id when a client replays it in a
  // later turn, so ids repeat. `json` and not `jsonb`: an item comes back exactly as it was stored, and no query looks in.
  yield* sql`CREATE TABLE items (
    response_id uuid NOT NULL REFERENCES turns (response_id) ON DELETE CASCADE,
    side text NOT NULL CHECK (side IN ('input', 'output')),
    position integer NOT NULL,
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    item json NOT NULL,
    PRIMARY KEY (response_id, side, position)
  )`
  yield* sql`CREATE INDEX items_id ON items (user_id, id)`

  // What each request cost, whatever became of it.
  yield* sql`CREATE TABLE usage_records (
    response_id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    organization_id uuid NOT NULL REFERENCES organizations (id),
    key_id uuid NOT NULL,
    model text NOT NULL,
    input_tokens integer NOT NULL,
    output_tokens integer NOT NULL,
    source text NOT NULL CHECK (source IN ('provider', 'estimate')),
    outcome text NOT NULL CHECK (outcome IN ('completed', 'failed', 'abandoned')),
    created_at timestamptz NOT NULL DEFAULT now()
  )`
  yield* sql`CREATE INDEX usage_records_user ON usage_records (user_id, created_at)`
})
