import { DateTime, Effect, Redacted, Schema, Struct } from "effect"
import { type Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { Role } from "../domain/Account.ts"
import { CurrentActor, type Person } from "../domain/Actor.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import { OrganizationId, SessionId, UserId } from "../domain/Ids.ts"
import type { KnownSession, SessionClient, SessionRecord, SignInMethod } from "../domain/Session.ts"
import { storable } from "../domain/storable.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { networkOf } from "./ClientAddress.ts"
import * as KeyToken from "./KeyToken.ts"
import { makeKnownNetworks } from "./KnownNetworks.ts"

/** Sessions of one user; a new one beyond them ends the oldest. */
const sessionsPerUserMax = 100
/** The age of the recorded last request of a session at which a new one is written. */
const lastSeenSeconds = 60
const userAgentCharactersMax = 500

const sessionFields = {
  id: SessionId,
  userId: UserId,
  createdAt: Schema.DateTimeUtcFromDate,
  lastSeenAt: Schema.DateTimeUtcFromDate,
  address: Schema.NullOr(Schema.String),
  userAgent: Schema.NullOr(Schema.String)
}
const SessionRow = Schema.Struct(sessionFields)
type SessionRow = typeof SessionRow.Type

const KnownRow = Schema.Struct({
  ...sessionFields,
  email: Schema.String,
  role: Role,
  organizationId: OrganizationId,
  organization: Schema.String,
  plan: Schema.String,
  hasPassword: Schema.Boolean
})

/** A new session. `secret` is never shown again. */
export interface StartedSession {
  readonly session: SessionRecord
  readonly secret: Redacted.Redacted
  readonly person: Person
}

const personOf = (row: typeof KnownRow.Type): Person => ({
  _tag: "Person",
  ...Struct.pick(row, ["userId", "email", "role", "organizationId", "organization", "address"]),
  sessionId: row.id
})

const csrfLabel = "parley csrf v1"

/** Derived from the secret, so that nothing more is stored; the secret can't be derived from it. */
const csrfTokenOf = (secret: Redacted.Redacted): Effect.Effect<string, never, Digest.Digest> =>
  Effect.map(KeyToken.hash(Redacted.make(`${csrfLabel}\n${Redacted.value(secret)}`)), Hex.encode)

const makeSecret = Effect.gen(function* () {
  const secret = yield* KeyToken.makeSessionSecret
  return { secret, hash: yield* KeyToken.hash(secret) }
})

/** The table of sessions. Its methods join the transaction of the service that uses it. */
export const makeSessionTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const services = yield* Effect.context<Digest.Digest | SecureRandom.SecureRandom>()
  const audit = yield* makeAuditRecorder
  const networks = yield* makeKnownNetworks
  const { sessionIdleSeconds, sessionSeconds } = (yield* AppConfig).console

  const expiryOf = ({ createdAt, lastSeenAt }: SessionRow): DateTime.Utc =>
    DateTime.min(
      DateTime.add(createdAt, { seconds: sessionSeconds }),
      DateTime.add(lastSeenAt, { seconds: sessionIdleSeconds })
    )

  const recordOf = (row: SessionRow): SessionRecord => ({
    ...Struct.pick(row, Struct.keys(sessionFields)),
    expiresAt: expiryOf(row)
  })

  const isValid = (now: DateTime.Utc) => sql`
    s.created_at > ${DateTime.toDateUtc(DateTime.subtract(now, { seconds: sessionSeconds }))}
    AND s.last_seen_at > ${DateTime.toDateUtc(DateTime.subtract(now, { seconds: sessionIdleSeconds }))}`

  const sessionColumns = sql.literal("s.id, s.user_id, s.created_at, s.last_seen_at, s.address, s.user_agent")
  const known = sql`
    SELECT ${sessionColumns}, u.email, u.role, u.organization_id, o.name AS organization, o.plan,
      EXISTS (SELECT 1 FROM passwords p WHERE p.user_id = u.id) AS has_password
    FROM sessions s JOIN users u ON u.id = s.user_id JOIN organizations o ON o.id = u.organization_id`

  /** Undefined if the user doesn't exist or is disabled. */
  const insert = Effect.fnUntraced(function* (
    userId: UserId,
    { address, userAgent }: SessionClient,
    method: SignInMethod
  ) {
    const { hash, secret } = yield* Effect.provideContext(makeSecret, services)
    const id = SessionId.make(yield* random.uuidV7())
    const now = DateTime.toDateUtc(yield* DateTime.now)
    const agent = userAgent === null ? null : storable(userAgent.slice(0, userAgentCharactersMax))
    // The lock on the user: disabling it waits, or was first.
    const signedIn = yield* sql`
      UPDATE users SET last_sign_in_at = ${now} WHERE id = ${userId} AND disabled_at IS NULL RETURNING id`
    if (signedIn.length === 0) return undefined
    yield* sql`
      INSERT INTO sessions (id, hash, user_id, method, address, user_agent, created_at, last_seen_at)
      VALUES (${id}, ${hash}, ${userId}, ${method}, ${address}, ${agent}, ${now}, ${now})`
    yield* sql`
      DELETE FROM sessions WHERE id IN (
        SELECT id FROM sessions WHERE user_id = ${userId} ORDER BY created_at DESC, id DESC OFFSET ${sessionsPerUserMax}
      )`
    yield* networks.remember(userId, networkOf(address))
    const row = yield* sql`${known} WHERE s.id = ${id}`.pipe(rowAs(KnownRow))
    if (row === undefined) return undefined
    const person = personOf(row)
    yield* audit
      .record({
        action: "session.start",
        ...aboutUser({ ...person, id: userId }),
        details: { method, user_agent: agent }
      })
      .pipe(Effect.provideService(CurrentActor, person))
    return { session: recordOf(row), secret, person } satisfies StartedSession
  })

  const touch = (id: SessionId, now: DateTime.Utc) => sql`
    UPDATE sessions SET last_seen_at = ${DateTime.toDateUtc(now)}
    WHERE id = ${id} AND last_seen_at <= ${DateTime.toDateUtc(DateTime.subtract(now, { seconds: lastSeenSeconds }))}`

  /** Null: unknown, expired or ended, or its user is disabled. Slides the expiry. */
  const find = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
    if (!KeyToken.isWellFormed(KeyToken.sessionPrefix, secret)) return null
    const hash = yield* Effect.provideContext(KeyToken.hash(secret), services)
    const now = yield* DateTime.now
    const row = yield* sql`
      ${known} WHERE s.hash = ${hash} AND u.disabled_at IS NULL AND ${isValid(now)}`.pipe(rowAs(KnownRow))
    if (row === undefined) return null
    const isStale = DateTime.isLessThanOrEqualTo(
      row.lastSeenAt,
      DateTime.subtract(now, { seconds: lastSeenSeconds })
    )
    if (isStale) yield* touch(row.id, now)
    return {
      session: recordOf(isStale ? { ...row, lastSeenAt: now } : row),
      person: personOf(row),
      ...Struct.pick(row, ["hasPassword", "plan"]),
      csrfToken: yield* Effect.provideContext(csrfTokenOf(secret), services)
    } satisfies KnownSession
  })

  const list = Effect.fnUntraced(function* (userId: UserId) {
    const rows = yield* sql`
      SELECT ${sessionColumns} FROM sessions s WHERE s.user_id = ${userId} AND ${isValid(yield* DateTime.now)}
      ORDER BY s.last_seen_at DESC, s.id DESC LIMIT ${sessionsPerUserMax}`.pipe(rowsAs(SessionRow))
    return rows.map(recordOf)
  })

  /** Replaces the secret of a session, which may be stolen. Undefined if the session has ended. */
  const renew = Effect.fnUntraced(function* (id: SessionId) {
    const { hash, secret } = yield* Effect.provideContext(makeSecret, services)
    const renewed = yield* sql`UPDATE sessions SET hash = ${hash} WHERE id = ${id} RETURNING id`
    return renewed.length === 0 ? undefined : secret
  })

  /** Ends sessions of a user and returns how many. */
  const endAll = (userId: UserId, except?: SessionId) =>
    Effect.map(
      sql`
        DELETE FROM sessions
        WHERE user_id = ${userId} AND id IS DISTINCT FROM ${except ?? null}::uuid RETURNING id`,
      ({ length }) => length
    )

  const end = (userId: UserId, id: SessionId) =>
    Effect.map(
      sql`DELETE FROM sessions WHERE user_id = ${userId} AND id = ${id} RETURNING id`,
      ({ length }) => length
    )

  return { insert, find, list, renew, end, endAll }
})
