import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const people = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE users
    ADD COLUMN role text NOT NULL DEFAULT 'member' CHECK (role IN ('owner', 'admin', 'organization_admin', 'member')),
    ADD COLUMN last_sign_in_at timestamptz`
  // Who runs an existing installation isn't known; the user of the first start is the best guess.
  yield* sql`UPDATE users SET role = 'owner'
    WHERE id = (SELECT id FROM users ORDER BY disabled_at IS NOT NULL, id LIMIT 1)`
  yield* sql`CREATE INDEX users_administrators ON users (id) WHERE role IN ('owner', 'admin')`

  // `hash` names the algorithm, its parameters and the salt: see auth/PasswordHash.
  yield* sql`CREATE TABLE passwords (
    user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash text NOT NULL,
    changed_at timestamptz NOT NULL
  )`

  // A user's one key of kind 'web' stands for the web application in the usage. It can't be presented: its hash is random.
  yield* sql`ALTER TABLE api_keys ADD COLUMN kind text NOT NULL DEFAULT 'issued' CHECK (kind IN ('issued', 'web'))`
  yield* sql`CREATE UNIQUE INDEX api_keys_web ON api_keys (user_id) WHERE kind = 'web'`
})

/** Of sessions and links, only the SHA-256 of the secret is kept. */
const secrets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`CREATE TABLE sessions (
    id uuid PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    method text NOT NULL CHECK (method IN ('password', 'link', 'identity_provider')),
    address text,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL
  ) WITH (fillfactor = 80)`
  yield* sql`CREATE INDEX sessions_user ON sessions (user_id, created_at)`

  // An invitation names a user who doesn't exist yet; the other kinds are for an existing one.
  yield* sql`CREATE TABLE links (
    id uuid PRIMARY KEY,
    hash bytea NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('set_up', 'invitation', 'password_reset')),
    user_id uuid REFERENCES users (id) ON DELETE CASCADE,
    email text,
    organization_id uuid REFERENCES organizations (id) ON DELETE CASCADE,
    role text CHECK (role IN ('owner', 'admin', 'organization_admin', 'member')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CHECK ((kind = 'invitation') = (user_id IS NULL)),
    CHECK (num_nulls(email, organization_id, role) = CASE kind WHEN 'invitation' THEN 0 ELSE 3 END)
  )`
  // A new link voids the one before it.
  yield* sql`CREATE UNIQUE INDEX links_invitation ON links (lower(email)) WHERE kind = 'invitation'`
  yield* sql`CREATE UNIQUE INDEX links_user ON links (user_id, kind)`
  yield* sql`CREATE INDEX links_expiry ON links (expires_at)`
})

const throttle = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Failed attempts to sign in. `subject` is a hash of what the limit is for; see auth/SignInThrottle.
  yield* sql`CREATE TABLE sign_in_attempts (
    subject bytea PRIMARY KEY,
    level float8 NOT NULL,
    charged_at timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL
  ) WITH (fillfactor = 70)`
  yield* sql`CREATE INDEX sign_in_attempts_charged ON sign_in_attempts (charged_at)`

  // From where a user has signed in.
  yield* sql`CREATE TABLE sign_in_networks (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    network text NOT NULL,
    signed_in_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, network)
  )`
})

export default Effect.gen(function* () {
  yield* people
  yield* secrets
  yield* throttle
})
