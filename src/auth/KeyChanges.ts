import { DateTime, Effect, Redacted, Schema } from "effect"
import { type Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { Caller } from "../domain/Account.ts"
import { ApiKeyNotActive, ApiKeyRejected, UserDisabled } from "../domain/Errors.ts"
import { ApiKeyId, UserId, OrganizationId } from "../domain/Ids.ts"
import { type KeyLimitChanges, noKeyLimits } from "../domain/KeyLimits.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import {
  makeKeyAccess,
  entryOf,
  LimitedRow,
  limitsEntry,
  ownerColumns,
  recordOf,
  RevokedRow,
  ChangedRow
} from "./KeyRows.ts"
import * as KeyToken from "./KeyToken.ts"

/** A new key, with the state of the key that it replaces. */
const RolledRow = Schema.Struct({
  ...ChangedRow.fields,
  oldHash: Schema.Uint8Array,
  oldHint: Schema.String,
  oldExpiresAt: Schema.DateTimeUtcFromDate
})

const newColumns =
  "id, user_id, name, hint, created_at, expires_at, revoked_at, last_used_at, daily_tokens::float8, " +
  "monthly_tokens::float8, requests_per_minute"

/**
 * Replaces an active key: the new one has its name, its limits and its expiry, and the old one expires at the
 * end of the grace period, or as before if that is earlier. `forget` removes a key from the cache of
 * look-ups, by its hash.
 */
export const makeKeyRoll = Effect.fnUntraced(function* (forget: (hash: Uint8Array) => Effect.Effect<void>) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const services = yield* Effect.context<Digest.Digest>()
  const audit = yield* makeAuditRecorder
  const { changeable, lockOwnerOf, refusal } = yield* makeKeyAccess

  const replace = Effect.fnUntraced(function* (
    id: ApiKeyId,
    key: Redacted.Redacted,
    until: DateTime.Utc,
    owner?: UserId
  ) {
    const newId = ApiKeyId.make(yield* random.uuidV7())
    const hash = yield* Effect.provideContext(KeyToken.hash(key), services)
    const now = DateTime.toDateUtc(yield* DateTime.now)
    return yield* sql`
      WITH old AS (
        SELECT k.* FROM api_keys k JOIN users u ON u.id = k.user_id
        WHERE k.id = ${id} AND k.kind = 'issued' AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})
          ${yield* changeable(owner)}
        FOR NO KEY UPDATE OF k
      ), k AS (
        INSERT INTO api_keys (id, user_id, name, hash, hint, expires_at, daily_tokens, monthly_tokens, requests_per_minute)
        SELECT ${newId}::uuid, user_id, name, ${hash}::bytea, ${KeyToken.hint(key)}, expires_at, daily_tokens, monthly_tokens,
          requests_per_minute
        FROM old RETURNING ${sql.literal(newColumns)}
      ), ended AS (
        UPDATE api_keys SET expires_at = least(api_keys.expires_at, ${DateTime.toDateUtc(until)}::timestamptz)
        FROM old WHERE api_keys.id = old.id
        RETURNING api_keys.hash AS old_hash, api_keys.hint AS old_hint, api_keys.expires_at AS old_expires_at
      )
      SELECT k.*, ended.*, ${sql.literal(ownerColumns)}
      FROM k CROSS JOIN ended JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`.pipe(
      rowAs(RolledRow)
    )
  })

  /** True if the actor may change the key, active or not. */
  const isChangeable = Effect.fnUntraced(function* (id: ApiKeyId, owner?: UserId) {
    const found = yield* sql`
      SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
      WHERE k.id = ${id} AND k.kind = 'issued' ${yield* changeable(owner)}`
    return found.length > 0
  })

  return Effect.fn("ApiKeys.roll")(function* (id: ApiKeyId, graceSeconds: number, owner?: UserId) {
    const key = yield* Effect.provideService(KeyToken.makeKey, SecureRandom.SecureRandom, random)
    const until = DateTime.add(yield* DateTime.now, { seconds: graceSeconds })
    const rolled = yield* audit.recording(
      // A separate statement, so that the next one sees everything committed meanwhile.
      Effect.andThen(lockOwnerOf(id), replace(id, key, until, owner)),
      (changed) =>
        changed &&
        entryOf(
          "api_key.roll",
          { ...changed, id, hint: changed.oldHint, expiresAt: changed.oldExpiresAt },
          { new_id: changed.id, new_hint: changed.hint }
        )
    )
    if (rolled === undefined) {
      return yield* (yield* isChangeable(id, owner)) ? new ApiKeyNotActive() : yield* refusal(id, owner)
    }
    yield* forget(rolled.oldHash)
    return { ...recordOf(rolled), key, oldExpiresAt: rolled.oldExpiresAt }
  }, orUnavailable)
})

const webKeyName = "Web application"
const webKeyHashBytes = 32

const Row = Schema.Struct({ id: ApiKeyId })
const CallerRow = Schema.Struct({
  userId: UserId,
  organizationId: OrganizationId,
  plan: Schema.String,
  disabled: Schema.Boolean
})

/** Finds or creates the key of a user that can't be presented, because nothing has its random hash. */
export const makeWebKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  const find = (userId: UserId) =>
    sql`SELECT id FROM api_keys WHERE user_id = ${userId} AND kind = 'web'`.pipe(rowAs(Row))

  const webKeyOf = Effect.fn("ApiKeys.webKeyOf")(function* (userId: UserId) {
    const found = yield* find(userId)
    if (found !== undefined) return found.id
    yield* sql`
      INSERT INTO api_keys (id, user_id, name, hash, hint, kind)
      VALUES (${yield* random.uuidV7()}, ${userId}, ${webKeyName}, ${yield* random.randomBytes(webKeyHashBytes)}, '', 'web')
      ON CONFLICT DO NOTHING`
    // Another request may have been first.
    const created = yield* find(userId)
    return created === undefined
      ? yield* Effect.die("The key of the web application was removed")
      : created.id
  }, orUnavailable)

  /** The caller of a key. */
  const webCallerOf = Effect.fnUntraced(function* (keyId: ApiKeyId) {
    const found = yield* sql`
      SELECT u.id AS user_id, u.organization_id, o.plan, u.disabled_at IS NOT NULL AS disabled
      FROM api_keys k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id
      WHERE k.id = ${keyId} AND k.kind = 'web' AND u.deleted_at IS NULL`.pipe(rowAs(CallerRow), orUnavailable)
    if (found === undefined) return yield* new ApiKeyRejected({ reason: "unknown" })
    if (found.disabled) return yield* new UserDisabled()
    const { organizationId, plan, userId } = found
    return { userId, organizationId, keyId, keyLimits: noKeyLimits, plan } satisfies Caller
  })

  /** The key of the web application, if it exists. Creates none. */
  const knownWebKeyOf = Effect.fnUntraced(function* (userId: UserId) {
    return (yield* find(userId))?.id ?? null
  }, orUnavailable)

  return { webKeyOf, knownWebKeyOf, webCallerOf }
})

export type WebKeys = Effect.Success<typeof makeWebKeys>

const changedColumns =
  "api_keys.id, user_id, name, hint, hash, created_at, expires_at, api_keys.revoked_at, last_used_at, " +
  "api_keys.daily_tokens::float8, api_keys.monthly_tokens::float8, api_keys.requests_per_minute"

/** Changes keys that were issued. `forget` removes a key from the cache of look-ups, by its hash. */
export const makeKeyChanges = Effect.fnUntraced(function* (
  forget: (hash: Uint8Array) => Effect.Effect<void>
) {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const { changeable, refusal } = yield* makeKeyAccess

  const revoke = Effect.fn("ApiKeys.revoke")(function* (id: ApiKeyId, owner?: UserId) {
    const now = DateTime.toDateUtc(yield* DateTime.now)
    const update = sql`
      WITH old AS (
        SELECT k.id, k.revoked_at FROM api_keys k JOIN users u ON u.id = k.user_id
        WHERE k.id = ${id} AND k.kind = 'issued' ${yield* changeable(owner)}
        FOR NO KEY UPDATE OF k
      ), k AS (
        UPDATE api_keys SET revoked_at = coalesce(old.revoked_at, ${now}) FROM old WHERE api_keys.id = old.id
        RETURNING ${sql.literal(changedColumns)}, old.revoked_at IS NULL AS changed
      )
      SELECT k.*, ${sql.literal(ownerColumns)}
      FROM k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`
    const revoked = yield* audit.recording(rowAs(RevokedRow)(update), (key) =>
      key?.changed === true ? entryOf("api_key.revoke", key) : undefined
    )
    if (revoked === undefined) return yield* yield* refusal(id, owner)
    yield* forget(revoked.hash)
    return recordOf(revoked)
  }, orUnavailable)

  const setLimits = Effect.fn("ApiKeys.setLimits")(function* (
    id: ApiKeyId,
    { dailyTokens, monthlyTokens, requestsPerMinute }: KeyLimitChanges,
    owner?: UserId
  ) {
    const column = (name: string, value: number | null | undefined) =>
      value === undefined ? sql.literal(`old.${name}`) : sql`${value}::bigint`
    const update = sql`
      WITH old AS (
        SELECT k.id, k.daily_tokens, k.monthly_tokens, k.requests_per_minute
        FROM api_keys k JOIN users u ON u.id = k.user_id
        WHERE k.id = ${id} AND k.kind = 'issued' ${yield* changeable(owner)}
        FOR NO KEY UPDATE OF k
      ), k AS (
        UPDATE api_keys SET
          daily_tokens = ${column("daily_tokens", dailyTokens)},
          monthly_tokens = ${column("monthly_tokens", monthlyTokens)},
          requests_per_minute = ${column("requests_per_minute", requestsPerMinute)}
        FROM old WHERE api_keys.id = old.id
        RETURNING ${sql.literal(changedColumns)}, old.daily_tokens::float8 AS old_daily,
          old.monthly_tokens::float8 AS old_monthly, old.requests_per_minute AS old_per_minute
      )
      SELECT k.*, ${sql.literal(ownerColumns)}
      FROM k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`
    const limited = yield* audit.recording(rowAs(LimitedRow)(update), (key) => key && limitsEntry(key))
    if (limited === undefined) return yield* yield* refusal(id, owner)
    yield* forget(limited.hash)
    return recordOf(limited)
  }, orUnavailable)

  return { revoke, setLimits }
})
