import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Who did what. Names are copied and nothing is referenced, so that the history survives what it names. */
const log = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A UUID of version 7 by the database's clock, whose 12 bits after the milliseconds are a fraction of them: RFC 9562,
  // section 6.2, method 3. So ids sort by time, whichever process writes, and a time is a bound of ids.
  yield* sql`CREATE FUNCTION audit_id(at timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(
      substring(int8send(micros / 1000) FROM 3)
        || substring(int8send(x'7000'::int8 | (micros % 1000 * 4096 / 1000)) FROM 7)
        || substring(uuid_send(gen_random_uuid()) FROM 9),
      'hex')::uuid
    FROM (SELECT (extract(epoch FROM at) * 1000000)::int8 AS micros) AS time
  $$`

  yield* sql`CREATE TABLE audit_log (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL,
    actor text NOT NULL CHECK (actor IN ('system', 'operator', 'person')),
    actor_id uuid,
    actor_email text,
    origin text NOT NULL CHECK (origin IN ('browser', 'cli', 'api', 'server')),
    address text,
    action text NOT NULL,
    target_type text NOT NULL,
    target_id text,
    target_name text NOT NULL,
    organization_id uuid,
    organization text,
    details jsonb NOT NULL
  )`
  yield* sql`CREATE INDEX audit_log_organization ON audit_log (organization_id, id)`
  yield* sql`CREATE INDEX audit_log_actor ON audit_log (lower(coalesce(actor_email, actor)), id)`
  yield* sql`CREATE INDEX audit_log_target ON audit_log (target_type, target_id, id)`
  yield* sql`CREATE INDEX audit_log_action ON audit_log (action, id)`
})

const protection = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Not even the owner of the table can change a row without dropping the trigger first. ALWAYS: also in a session that
  // replays changes as a replica.
  yield* sql`CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'The audit log is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
    END
  $$`
  yield* sql`CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only()`
  yield* sql`ALTER TABLE audit_log ENABLE ALWAYS TRIGGER append_only`
  // Default privileges may have given a role of the service more than it needs.
  yield* sql`DO $$
    DECLARE grantee regrole;
    BEGIN
      FOR grantee IN
        SELECT DISTINCT acl.grantee::regrole FROM pg_class, aclexplode(relacl) AS acl
        WHERE oid = 'audit_log'::regclass AND acl.grantee NOT IN (0, relowner)
      LOOP
        EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON audit_log FROM %s', grantee);
      END LOOP;
      REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON audit_log FROM PUBLIC;
    END
  $$`
})

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* log
  yield* protection

  // Counts what can be caused any number of times, such as failed attempts to sign in. One row for each subject.
  yield* sql`CREATE TABLE audit_counters (
    action text NOT NULL,
    subject text NOT NULL,
    hour timestamptz NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (action, subject)
  ) WITH (fillfactor = 70)`

  // The settings, plans and license of the latest start, to be compared with those of the next one. Of a secret
  // it has only a salted hash: see src/audit/Installation.
  yield* sql`CREATE TABLE audit_installation (
    action text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    salt bytea,
    PRIMARY KEY (action, name)
  )`
})
