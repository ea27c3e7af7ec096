import { DateTime, Effect, Redacted, Struct } from "effect"
import type { RolledKey } from "../auth/ApiKeys.ts"
import type { ApiKeyRecord, Page } from "../domain/Account.ts"
import type { KeyAllowance, KeyWindow } from "../domain/Allowance.ts"
import type { KeyLimitChanges } from "../domain/KeyLimits.ts"
import { Usage } from "../usage/Usage.ts"
import type { KeyBody } from "./AdminApi.ts"
import { type KeyLimitsPayload, pageBody, wireNames } from "./AdminBodies.ts"

export const statusOf = (
  { expiresAt, revokedAt }: Pick<ApiKeyRecord, "expiresAt" | "revokedAt">,
  now: DateTime.Utc
): (typeof KeyBody.Type)["status"] => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && DateTime.isGreaterThanOrEqualTo(now, expiresAt) ? "expired" : "active"
}

const windowBody = (window: KeyWindow | null) => window && Struct.renameKeys(window, wireNames)

const bodyOf = (record: ApiKeyRecord, allowance: KeyAllowance, now: DateTime.Utc): typeof KeyBody.Type => ({
  ...Struct.renameKeys(record, wireNames),
  status: statusOf(record, now),
  limits: {
    daily: windowBody(allowance.daily),
    monthly: windowBody(allowance.monthly),
    requests_per_minute: allowance.requestsPerMinute
  }
})

/** Makes the body of a key, and of a page of keys, with what is used of their limits. */
export const makeKeyBodies = Effect.gen(function* () {
  const usage = yield* Usage

  const keyBodies = Effect.fnUntraced(function* (records: ReadonlyArray<ApiKeyRecord>) {
    const allowanceOf = yield* usage.keyAllowances(records)
    const now = yield* DateTime.now
    return (record: ApiKeyRecord) => bodyOf(record, allowanceOf(record), now)
  })

  const rolledKeyBody = Effect.fnUntraced(function* ({ key, oldExpiresAt, ...record }: RolledKey) {
    const bodyOf = yield* keyBodies([record])
    return { ...bodyOf(record), key: Redacted.value(key), old_expires_at: oldExpiresAt }
  })

  return {
    rolledKeyBody,
    keyBody: (record: ApiKeyRecord) => Effect.map(keyBodies([record]), (bodyOf) => bodyOf(record)),
    keysBody: (page: Page<ApiKeyRecord>) =>
      Effect.map(keyBodies(page.data), (bodyOf) => pageBody(bodyOf)(page))
  }
})

/** The limits that a payload names. */
export const limitChanges = (payload: typeof KeyLimitsPayload.Type): KeyLimitChanges =>
  Struct.renameKeys(payload, {
    daily_tokens: "dailyTokens",
    monthly_tokens: "monthlyTokens",
    requests_per_minute: "requestsPerMinute"
  })
