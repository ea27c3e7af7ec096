import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { ApiKeyId, UserId } from "../domain/Ids.ts"
import type { KeyLimitChanges } from "../domain/KeyLimits.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { makeKeyAccess } from "./KeyAccess.ts"
import { entryOf, LimitedRow, limitsEntry, ownerColumns, recordOf, RevokedRow } from "./KeyRows.ts"

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
