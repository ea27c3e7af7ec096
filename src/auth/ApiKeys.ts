import {
  Clock,
  Context,
  DateTime,
  Effect,
  Layer,
  Option,
  Queue,
  type Redacted,
  Schema,
  type Scope,
  Struct
} from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { ApiKeyRecord, Caller, Page } from "../domain/Account.ts"
import { type AuditEntry, within } from "../domain/AuditEntry.ts"
import {
  ApiKeyNotFound,
  ApiKeyRejected,
  type DatabaseUnavailable,
  type ServerBusy,
  UserDisabled,
  UserNotFound
} from "../domain/Errors.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { visible } from "../sql/visible.ts"
import { type KnownKey, makeKeyLookup } from "./KeyLookup.ts"
import * as KeyToken from "./KeyToken.ts"
import { makeWebKeys } from "./WebKeys.ts"

const RecordRow = Schema.Struct({
  id: ApiKeyId,
  userId: UserId,
  name: Schema.String,
  hint: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  revokedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

/** A key that was just changed, with its owner. */
const ChangedRow = Schema.Struct({
  ...RecordRow.fields,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

const RevokedRow = Schema.Struct({ ...ChangedRow.fields, hash: Schema.Uint8Array, changed: Schema.Boolean })

const recordOf = (key: typeof ChangedRow.Type): ApiKeyRecord =>
  Struct.pick(key, Struct.keys(RecordRow.fields))

const entryOf = (action: AuditEntry["action"], key: typeof ChangedRow.Type): AuditEntry => ({
  action,
  target: { id: key.id, name: key.name },
  organization: within(key),
  details: {
    user: key.email,
    hint: key.hint,
    expires_at: key.expiresAt && DateTime.formatIso(key.expiresAt)
  }
})

/** A new key. `key` is never shown again. */
export interface CreatedKey extends ApiKeyRecord {
  readonly key: Redacted.Redacted
}

export interface KeyRequest {
  readonly userId: UserId
  readonly name: string
  /** Null: valid until it is revoked. */
  readonly expiresAt: DateTime.Utc | null
}

/**
 * The API keys of users. The database holds their SHA-256, never the keys. `exists` and `revoke` are within what the actor sees.
 */
export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * The caller who presents the key. The result is at most `auth.cacheSeconds` old, here and in every other process; expiry is
     * exact to the millisecond. A key with a wrong checksum costs no look-up, and look-ups of unknown keys are limited.
     */
    readonly authenticate: (
      presented: Redacted.Redacted
    ) => Effect.Effect<Caller, ApiKeyRejected | UserDisabled | DatabaseUnavailable | ServerBusy>
    readonly create: (request: KeyRequest) => Effect.Effect<CreatedKey, UserNotFound | DatabaseUnavailable>
    /**
     * Stores a key created elsewhere, unless it is stored already: then nothing changes, and a revoked key stays revoked.
     * Returns whether it was stored.
     */
    readonly adopt: (
      request: KeyRequest,
      key: Redacted.Redacted
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Also true for expired and revoked keys. With an owner, only for keys of that user. */
    readonly exists: (id: ApiKeyId, owner?: UserId) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Oldest first, beginning after `after`; expired and revoked keys too. */
    readonly list: (
      userId: UserId,
      after?: ApiKeyId
    ) => Effect.Effect<Page<ApiKeyRecord>, DatabaseUnavailable>
    /** Revokes a key for good; with an owner, only one of that user. A second call changes nothing. */
    readonly revoke: (
      id: ApiKeyId,
      owner?: UserId
    ) => Effect.Effect<ApiKeyRecord, ApiKeyNotFound | DatabaseUnavailable>
    /**
     * The key that stands for the web application in the usage of an existing user. It is created at its first use, can't be presented, and
     * is neither listed nor revoked.
     */
    readonly webKeyOf: (userId: UserId) => Effect.Effect<ApiKeyId, DatabaseUnavailable>
  }
>()("parley/auth/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const { cacheSeconds } = (yield* AppConfig).auth
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const services = yield* Effect.context<Digest.Digest>()
      const lookup = yield* makeKeyLookup(cacheSeconds)
      const recordUse = yield* makeLastUse
      const audit = yield* makeAuditRecorder

      const hashOf = (key: Redacted.Redacted) => Effect.provideContext(KeyToken.hash(key), services)

      // On the path of every request, mostly without a look-up: a span would cost as much as all the rest.
      const authenticate = Effect.fnUntraced(function* (presented: Redacted.Redacted) {
        const parsed = KeyToken.parseKey(presented)
        if (Option.isNone(parsed)) return yield* new ApiKeyRejected({ reason: "malformed" })
        const key = yield* lookup.find(Hex.encode(yield* hashOf(parsed.value)))
        const nowMillis = yield* Clock.currentTimeMillis
        const reason = refusal(key, nowMillis)
        if (key === null || reason !== null) return yield* new ApiKeyRejected({ reason: reason ?? "unknown" })
        if (key.disabled) return yield* new UserDisabled()
        if (nowMillis >= key.lastUsedAtMillis + lastUseSeconds * 1000) {
          key.lastUsedAtMillis = nowMillis
          recordUse(key.caller.keyId)
        }
        return key.caller
      })

      const recordColumns = sql.literal(
        "id, user_id, name, hint, created_at, expires_at, revoked_at, last_used_at"
      )

      const ownerColumns = sql.literal("u.email, u.organization_id, o.name AS organization")

      /** Undefined if the owner doesn't exist or the key is stored already. */
      const store = Effect.fnUntraced(function* (
        action: "api_key.create" | "api_key.adopt",
        { expiresAt, name, userId }: KeyRequest,
        key: Redacted.Redacted
      ) {
        const hash = yield* hashOf(key)
        const id = ApiKeyId.make(yield* random.uuidV7())
        const insert = sql`
          WITH k AS (
            INSERT INTO api_keys (id, user_id, name, hash, hint, expires_at)
            SELECT ${id}, id, ${name}, ${hash}, ${KeyToken.hint(key)}, ${expiresAt && DateTime.toDateUtc(expiresAt)}
            FROM users WHERE id = ${userId}
            ON CONFLICT (hash) DO NOTHING
            RETURNING ${recordColumns}
          )
          SELECT k.*, ${ownerColumns}
          FROM k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`
        const created = yield* audit.recording(
          rowAs(ChangedRow)(insert),
          (changed) => changed && entryOf(action, changed)
        )
        // The key may be cached as unknown.
        yield* lookup.forget(Hex.encode(hash))
        return created && recordOf(created)
      }, orUnavailable)

      const create = Effect.fn("ApiKeys.create")(function* (request: KeyRequest) {
        const key = yield* Effect.provideService(KeyToken.makeKey, SecureRandom.SecureRandom, random)
        const created = yield* store("api_key.create", request, key)
        return created === undefined ? yield* new UserNotFound() : { ...created, key }
      })

      const adopt = Effect.fn("ApiKeys.adopt")((request: KeyRequest, key: Redacted.Redacted) =>
        Effect.map(store("api_key.adopt", request, key), (created) => created !== undefined)
      )

      const exists = Effect.fn("ApiKeys.exists")(function* (id: ApiKeyId, owner?: UserId) {
        const found = yield* sql`
          SELECT k.id FROM api_keys k JOIN users u ON u.id = k.user_id
          WHERE k.id = ${id} ${yield* ownedBy(sql, owner)}`
        return found.length > 0
      }, orUnavailable)

      const list = Effect.fn("ApiKeys.list")(
        (userId: UserId, after = ApiKeyId.make(firstId)) =>
          sql`
            SELECT ${recordColumns} FROM api_keys
            WHERE user_id = ${userId} AND kind = 'issued' AND id > ${after} ORDER BY id LIMIT ${pageRowsAsked}`.pipe(
            rowsAs(RecordRow),
            Effect.map(pageOf)
          ),
        orUnavailable
      )

      const revoke = Effect.fn("ApiKeys.revoke")(function* (id: ApiKeyId, owner?: UserId) {
        const now = DateTime.toDateUtc(yield* DateTime.now)
        const update = sql`
          WITH old AS (
            SELECT k.id, k.revoked_at FROM api_keys k JOIN users u ON u.id = k.user_id
            WHERE k.id = ${id} AND k.kind = 'issued' ${yield* ownedBy(sql, owner)}
            FOR NO KEY UPDATE OF k
          ), k AS (
            UPDATE api_keys SET revoked_at = coalesce(old.revoked_at, ${now}) FROM old WHERE api_keys.id = old.id
            RETURNING api_keys.*, old.revoked_at IS NULL AS changed
          )
          SELECT k.*, ${ownerColumns}
          FROM k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`
        const revoked = yield* audit.recording(rowAs(RevokedRow)(update), (key) =>
          key?.changed === true ? entryOf("api_key.revoke", key) : undefined
        )
        if (revoked === undefined) return yield* new ApiKeyNotFound()
        yield* lookup.forget(Hex.encode(revoked.hash))
        return recordOf(revoked)
      }, orUnavailable)

      return ApiKeys.of({
        authenticate,
        create,
        adopt,
        exists,
        list,
        revoke,
        webKeyOf: yield* makeWebKeys
      })
    })
  )
}

/** A condition that the user `u` is the owner, if one is given, and is visible to the actor. */
const ownedBy = (sql: SqlClient.SqlClient, owner: UserId | undefined) =>
  Effect.map(visible(sql, "u.organization_id"), (seen) =>
    owner === undefined ? seen : sql`AND u.id = ${owner} ${seen}`
  )

/** Why a key is refused now, or null. */
const refusal = (key: KnownKey | null, nowMillis: number): ApiKeyRejected["reason"] | null => {
  if (key === null) return "unknown"
  if (key.revoked) return "revoked"
  return nowMillis >= key.expiresAtMillis ? "expired" : null
}

/** How old the recorded last use of a key is before a new one is written. */
const lastUseSeconds = 60

/** Keys queued to have their last use written; beyond that they are dropped until their next look-up. */
const waitingKeysMax = 10_000

/** Keys whose last use is written by one statement. */
const batchKeysMax = 200

/**
 * Returns a function that queues a key and returns at once; a fiber writes the queued keys, one statement at a time. A write
 * that fails is dropped.
 */
const makeLastUse: Effect.Effect<(id: ApiKeyId) => void, never, SqlClient.SqlClient | Scope.Scope> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const waiting = yield* Queue.dropping<ApiKeyId>(waitingKeysMax)

    const write = Effect.gen(function* () {
      const ids = yield* Queue.takeBetween(waiting, 1, batchKeysMax)
      const now = yield* DateTime.now
      const before = DateTime.subtract(now, { seconds: lastUseSeconds })
      // Other processes write the same column, so check the age again.
      yield* sql`
        UPDATE api_keys SET last_used_at = ${DateTime.toDateUtc(now)}
        WHERE ${sql.in("id", ids)}
          AND (last_used_at IS NULL OR last_used_at <= ${DateTime.toDateUtc(before)})`
    }).pipe(
      Effect.catchCause((cause) => Effect.logDebug("The last use of some keys could not be written", cause))
    )

    yield* Effect.forkScoped(Effect.forever(write))
    return (id) => {
      Queue.offerUnsafe(waiting, id)
    }
  })
