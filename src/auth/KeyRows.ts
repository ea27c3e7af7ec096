import { DateTime, Effect, Record, Schema, Struct } from "effect"
import type { SqlClient } from "effect/sql"
import type { ApiKeyRecord } from "../domain/Account.ts"
import { type AuditEntry, within } from "../domain/AuditEntry.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { keyLimitNames, KeyLimits } from "../domain/KeyLimits.ts"
import { visible } from "../sql/visible.ts"

/** The rows of `api_keys`, and what the audit log says about them. */

const keyFields = {
  id: ApiKeyId,
  userId: UserId,
  email: Schema.String,
  name: Schema.String,
  hint: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  revokedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
}
export const RecordRow = Schema.Struct({ ...keyFields, ...KeyLimits.fields })

/** Of a user `u` and its organization `o`. */
export const ownerColumns = "u.email, u.organization_id, o.name AS organization"

/** A key that was just changed, with its owner. */
export const ChangedRow = Schema.Struct({
  ...RecordRow.fields,
  organizationId: OrganizationId,
  organization: Schema.String
})

export const RevokedRow = Schema.Struct({
  ...ChangedRow.fields,
  hash: Schema.Uint8Array,
  changed: Schema.Boolean
})

/** A key whose limits were just set, with those that it had. */
export const LimitedRow = Schema.Struct({
  ...ChangedRow.fields,
  hash: Schema.Uint8Array,
  oldDaily: KeyLimits.fields.dailyTokens,
  oldMonthly: KeyLimits.fields.monthlyTokens,
  oldPerMinute: KeyLimits.fields.requestsPerMinute
})

export const recordOf = (row: typeof RecordRow.Type): ApiKeyRecord => ({
  ...Struct.pick(row, Struct.keys(keyFields)),
  limits: Struct.pick(row, keyLimitNames)
})

/** The names of the limits in the audit log. */
const auditNames = {
  dailyTokens: "daily_tokens",
  monthlyTokens: "monthly_tokens",
  requestsPerMinute: "requests_per_minute"
} as const

export const entryOf = (
  action: AuditEntry["action"],
  key: typeof ChangedRow.Type,
  details: AuditEntry["details"] = {}
): AuditEntry => ({
  action,
  target: { id: key.id, name: key.name },
  organization: within(key),
  details: {
    user: key.email,
    hint: key.hint,
    expires_at: key.expiresAt && DateTime.formatIso(key.expiresAt),
    ...details
  }
})

/** The limits that a new key has. */
export const limitsOf = (key: KeyLimits): AuditEntry["details"] =>
  Record.filter(Struct.renameKeys(Struct.pick(key, keyLimitNames), auditNames), (limit) => limit !== null)

/** What changed of the limits of a key; undefined if nothing did. */
export const limitsEntry = (key: typeof LimitedRow.Type): AuditEntry | undefined => {
  const changes = {
    daily_tokens: { old: key.oldDaily, new: key.dailyTokens },
    monthly_tokens: { old: key.oldMonthly, new: key.monthlyTokens },
    requests_per_minute: { old: key.oldPerMinute, new: key.requestsPerMinute }
  }
  const changed = Record.filter(changes, (limit) => limit.old !== limit.new)
  return Record.isEmptyRecord(changed) ? undefined : entryOf("api_key.limits", key, changed)
}

/** A condition that the user `u` is the owner, if one is given, and is visible to the actor. */
export const ownedBy = (sql: SqlClient.SqlClient, owner: UserId | undefined) =>
  Effect.map(visible(sql, "u.organization_id"), (seen) =>
    owner === undefined ? seen : sql`AND u.id = ${owner} ${seen}`
  )
