import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Caller } from "../../src/domain/Account.ts"
import { ApiKeyId, OrganizationId, UserId } from "../../src/domain/Ids.ts"
import { type KeyLimitChanges, noKeyLimits } from "../../src/domain/KeyLimits.ts"

/** Somebody new, in an organization of their own. */
export const makeCaller = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const caller: Caller = {
    userId: UserId.make(randomUUID()),
    organizationId: OrganizationId.make(randomUUID()),
    keyId: ApiKeyId.make(randomUUID()),
    keyLimits: noKeyLimits,
    plan: "default"
  }
  yield* sql`INSERT INTO organizations (id, name) VALUES (${caller.organizationId}, ${caller.organizationId}::text)`
  yield* sql`INSERT INTO users (id, organization_id, email)
    VALUES (${caller.userId}, ${caller.organizationId}, ${`${caller.userId}@example.com`})`
  return caller
})

/**
 * Sets the limits of the caller's key in the database, and returns the caller that its next look-up finds.
 */
export const withKeyLimits = Effect.fnUntraced(function* (caller: Caller, limits: KeyLimitChanges) {
  const sql = yield* SqlClient.SqlClient
  const keyLimits = { ...noKeyLimits, ...limits }
  yield* sql`
    INSERT INTO api_keys (id, user_id, name, hash, hint, daily_tokens, monthly_tokens, requests_per_minute)
    VALUES (${caller.keyId}, ${caller.userId}, 'a key', ${Buffer.from(caller.keyId)}, '', ${keyLimits.dailyTokens},
      ${keyLimits.monthlyTokens}, ${keyLimits.requestsPerMinute})
    ON CONFLICT (id) DO UPDATE SET daily_tokens = EXCLUDED.daily_tokens, monthly_tokens = EXCLUDED.monthly_tokens,
      requests_per_minute = EXCLUDED.requests_per_minute`
  return { ...caller, keyLimits }
})

/** Another key of the same user. */
export const anotherKey = (caller: Caller): Caller => ({
  ...caller,
  keyId: ApiKeyId.make(randomUUID()),
  keyLimits: noKeyLimits
})
