import { DateTime, Effect, Record, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { type ApiKeyRecord, Role } from "../domain/Account.ts"
import { CurrentActor, mayManage } from "../domain/Actor.ts"
import { type AuditEntry, within } from "../domain/AuditEntry.ts"
import { ApiKeyNotFound, RoleForbids } from "../domain/Errors.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { keyLimitNames, KeyLimits } from "../domain/KeyLimits.ts"
import { visible } from "../sql/visible.ts"

/** The rights of actors to change keys. */
export const makeKeyAccess = Effect.map(SqlClient.SqlClient, (sql) => {
  /**
   * A condition that the actor may change keys of the user `u`; users change their own ones, whatever their
   * role.
   */
  const changeable = Effect.fnUntraced(function* (owner?: UserId) {
    const owned = yield* ownedBy(sql, owner)
    if (owner !== undefined) return owned
    const actor = yield* CurrentActor
    return sql`${owned} AND ${sql.in(
      "u.role",
      Role.literals.filter((role) => mayManage(actor, role))
    )}`
  })

  /** The reason why a key was not changed. */
  const refusal = Effect.fnUntraced(function* (id: ApiKeyId, owner?: UserId) {
    const seen = yield* sql`
      SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
      WHERE k.id = ${id} AND k.kind = 'issued' ${yield* ownedBy(sql, owner)}`
    return seen.length > 0 ? new RoleForbids({ param: "id" }) : new ApiKeyNotFound()
  })

  /**
   * Locks the user of a new key and inserts the key. A change that ends the user's access waits, and then
   * revokes this key too, or came first. Undefined if the session that asks for the key has ended meanwhile.
   */
  const whileAllowed = Effect.fnUntraced(function* <A, E, R>(userId: UserId, insert: Effect.Effect<A, E, R>) {
    yield* sql`SELECT id FROM users WHERE id = ${userId} FOR NO KEY UPDATE`
    const actor = yield* CurrentActor
    if (actor._tag !== "Person") return yield* insert
    const open = yield* sql`SELECT id FROM sessions WHERE id = ${actor.sessionId}`
    return open.length === 0 ? undefined : yield* insert
  })

  /** Locks the user of an existing key. */
  const lockOwnerOf = (id: ApiKeyId) =>
    sql`SELECT id FROM users WHERE id = (SELECT user_id FROM api_keys WHERE id = ${id}) FOR NO KEY UPDATE`

  return { changeable, refusal, whileAllowed, lockOwnerOf }
})

/** The rows of `api_keys`, and their entries in the audit log. */

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

/** Columns of a user `u` and its organization `o`. */
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

/** Returns the entry about changed limits of a key; undefined if none changed. */
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
