import { DateTime, Effect, Redacted, Schema } from "effect"
import { type Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { ApiKeyNotActive } from "../domain/Errors.ts"
import { ApiKeyId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { makeKeyAccess } from "./KeyAccess.ts"
import { ChangedRow, entryOf, ownerColumns, recordOf } from "./KeyRows.ts"
import * as KeyToken from "./KeyToken.ts"

/** A new key, with what became of the one that it replaces. */
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
 * Replaces an active key: the new one has its name, its limits and its expiry, and the old one expires at the end of the grace period, or as
 * before if that is earlier. `forget` removes a key from the cache of look-ups, by its hash.
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

  /** Whether the actor may change the key, active or not. */
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
      // A statement of its own, so that the next one sees what was committed meanwhile.
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
