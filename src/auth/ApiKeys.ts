import { Clock, Context, DateTime, Effect, Layer, Option, type Redacted, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient, type Statement } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { ApiKeyRecord, Caller, Page } from "../domain/Account.ts"
import {
  ApiKeyNotFound,
  type ApiKeyNotActive,
  ApiKeyRejected,
  type DatabaseUnavailable,
  type RoleForbids,
  type ServerBusy,
  TooManyKeys,
  UserDisabled,
  UserNotFound
} from "../domain/Errors.ts"
import { ApiKeyId, type OrganizationId, type UserId } from "../domain/Ids.ts"
import { type KeyLimitChanges, noKeyLimits } from "../domain/KeyLimits.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeKeyChanges, makeKeyRoll, makeWebKeys, type WebKeys } from "./KeyChanges.ts"
import { type KnownKey, makeKeyLookup } from "./KeyLookup.ts"
import {
  makeKeyAccess,
  ChangedRow,
  entryOf,
  limitsOf,
  ownedBy,
  ownerColumns,
  recordOf,
  RecordRow
} from "./KeyRows.ts"
import * as KeyToken from "./KeyToken.ts"
import { lastUseSeconds, makeLastUse } from "./LastUse.ts"
import { StaleKeys } from "./StaleKeys.ts"

/** A new key. `key` is never shown again. */
export interface CreatedKey extends ApiKeyRecord {
  readonly key: Redacted.Redacted
}

/** A key that replaces another one, which is valid until `oldExpiresAt`. */
export interface RolledKey extends CreatedKey {
  readonly oldExpiresAt: DateTime.Utc
}

const listColumns =
  "k.id, k.user_id, k.name, k.hint, k.created_at, k.expires_at, k.revoked_at, k.last_used_at, k.daily_tokens::float8, " +
  "k.monthly_tokens::float8, k.requests_per_minute"

interface KeyRequest {
  readonly userId: UserId
  readonly name: string
  /** Null: valid until it is revoked. */
  readonly expiresAt: DateTime.Utc | null
  /** Omitted limits are null. */
  readonly limits?: KeyLimitChanges
}

/**
 * The API keys of users. The database holds their SHA-256, never the keys. Unless an owner is given, `exists`
 * covers the keys that the actor sees, and `revoke`, `roll` and `setLimits` those that the actor manages.
 */
export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * The caller who presents the key. Changes of this process to the key, its user or its organization apply
     * at once, those of other processes within `auth.cacheSeconds`. Expiry is exact to the millisecond. A key
     * with a wrong checksum costs no look-up, and look-ups of unknown keys are limited.
     */
    readonly authenticate: (
      presented: Redacted.Redacted
    ) => Effect.Effect<Caller, ApiKeyRejected | UserDisabled | DatabaseUnavailable | ServerBusy>
    /** The caller of a key that was presented before. It is refused as if it were presented now. */
    readonly callerOf: (
      id: ApiKeyId
    ) => Effect.Effect<Caller, ApiKeyRejected | UserDisabled | DatabaseUnavailable | ServerBusy>
    readonly create: (
      request: KeyRequest
    ) => Effect.Effect<CreatedKey, UserNotFound | TooManyKeys | DatabaseUnavailable>
    /**
     * Stores a key created elsewhere, unless it is stored already: then nothing changes, and a revoked key
     * stays revoked. Returns whether it was stored.
     */
    readonly adopt: (
      request: KeyRequest,
      key: Redacted.Redacted
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /**
     * True if the key exists, even if it is expired or revoked. With an owner, only for keys of that user.
     */
    readonly exists: (id: ApiKeyId, owner?: UserId) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Oldest first, beginning after `after`; expired and revoked keys too. */
    readonly list: (
      userId: UserId,
      after?: ApiKeyId
    ) => Effect.Effect<Page<ApiKeyRecord>, DatabaseUnavailable>
    /** The keys of all users of an organization; the same otherwise. */
    readonly listOfOrganization: (
      id: OrganizationId,
      after?: ApiKeyId
    ) => Effect.Effect<Page<ApiKeyRecord>, DatabaseUnavailable>
    /**
     * Creates a key with the name, the limits and the expiry of an active one, which is then valid for
     * `graceSeconds` more at most; with an owner, only one of that user. What is used of limits is counted
     * anew.
     */
    readonly roll: (
      id: ApiKeyId,
      graceSeconds: number,
      owner?: UserId
    ) => Effect.Effect<RolledKey, ApiKeyNotFound | ApiKeyNotActive | RoleForbids | DatabaseUnavailable>
    /** Revokes a key for good; with an owner, only one of that user. A second call changes nothing. */
    readonly revoke: (
      id: ApiKeyId,
      owner?: UserId
    ) => Effect.Effect<ApiKeyRecord, ApiKeyNotFound | RoleForbids | DatabaseUnavailable>
    /**
     * The key that stands for the web application in the usage of an existing user. It is created at its
     * first use, can't be presented, and is neither listed nor revoked.
     */
    readonly webKeyOf: (userId: UserId) => Effect.Effect<ApiKeyId, DatabaseUnavailable>
    /** The key of the web application; null before its first use. */
    readonly knownWebKeyOf: (userId: UserId) => Effect.Effect<ApiKeyId | null, DatabaseUnavailable>
    /**
     * Changes limits of a key; with an owner, only of one of that user. Takes effect at once here, and within
     * `auth.cacheSeconds` in other processes.
     */
    readonly setLimits: (
      id: ApiKeyId,
      changes: KeyLimitChanges,
      owner?: UserId
    ) => Effect.Effect<ApiKeyRecord, ApiKeyNotFound | RoleForbids | DatabaseUnavailable>
  }
>()("parley/auth/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const { cacheSeconds } = (yield* AppConfig).auth
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const digest = yield* Digest.Digest
      const lookup = yield* makeKeyLookup(cacheSeconds)
      const recordUse = yield* makeLastUse
      const audit = yield* makeAuditRecorder
      const forget = (hash: Uint8Array) => lookup.forget(Hex.encode(hash))
      const changes = yield* makeKeyChanges(forget)
      const roll = yield* makeKeyRoll(forget)
      const { whileAllowed } = yield* makeKeyAccess
      const { webCallerOf, ...webKeys } = yield* makeWebKeys

      // On the path of every request, mostly without a look-up: a span would cost as much as all the rest.
      const authenticate = Effect.fnUntraced(function* (presented: Redacted.Redacted) {
        const parsed = KeyToken.parseKey(presented)
        if (Option.isNone(parsed)) return yield* new ApiKeyRejected({ reason: "malformed" })
        return yield* authenticateHash(KeyToken.hexHash(parsed.value))
      })

      const authenticateHash = Effect.fnUntraced(function* (hash: string) {
        const key = yield* lookup.find(hash)
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
        "id, user_id, name, hint, created_at, expires_at, revoked_at, last_used_at, daily_tokens::float8, " +
          "monthly_tokens::float8, requests_per_minute"
      )

      /** Undefined if the owner doesn't exist, its session has ended or the key is stored already. */
      const store = Effect.fnUntraced(function* (
        action: "api_key.create" | "api_key.adopt",
        { expiresAt, limits, name, userId }: KeyRequest,
        key: Redacted.Redacted
      ) {
        const { dailyTokens, monthlyTokens, requestsPerMinute } = { ...noKeyLimits, ...limits }
        const hash = yield* KeyToken.hashWith(digest, key)
        const id = ApiKeyId.make(yield* random.uuidV7())
        const insert = sql`
          WITH k AS (
            INSERT INTO api_keys (id, user_id, name, hash, hint, expires_at, daily_tokens, monthly_tokens,
              requests_per_minute)
            SELECT ${id}, id, ${name}, ${hash}, ${KeyToken.hint(key)}, ${expiresAt && DateTime.toDateUtc(expiresAt)},
              ${dailyTokens}::bigint, ${monthlyTokens}::bigint, ${requestsPerMinute}::integer
            FROM users WHERE id = ${userId}
            ON CONFLICT (hash) DO NOTHING
            RETURNING ${recordColumns}
          )
          SELECT k.*, ${sql.literal(ownerColumns)}
          FROM k JOIN users u ON u.id = k.user_id JOIN organizations o ON o.id = u.organization_id`
        const created = yield* audit.recording(
          whileAllowed(userId, rowAs(ChangedRow)(insert)),
          (changed) => changed && entryOf(action, changed, limitsOf(changed))
        )
        // The key may be cached as unknown.
        yield* lookup.forget(Hex.encode(hash))
        return created && recordOf(created)
      }, orUnavailable)

      const create = Effect.fn("ApiKeys.create")(function* (request: KeyRequest) {
        yield* requireRoom(sql, request.userId)
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

      const page = (condition: Statement.Fragment, after = ApiKeyId.make(firstId)) =>
        sql`
          SELECT ${sql.literal(listColumns)}, u.email FROM api_keys k JOIN users u ON u.id = k.user_id
          WHERE ${condition} AND k.kind = 'issued' AND k.id > ${after} ORDER BY k.id LIMIT ${pageRowsAsked}`.pipe(
          rowsAs(RecordRow),
          Effect.map((rows) => pageOf(rows.map(recordOf)))
        )

      const list = Effect.fn("ApiKeys.list")(
        (userId: UserId, after?: ApiKeyId) => page(sql`k.user_id = ${userId}`, after),
        orUnavailable
      )

      const listOfOrganization = Effect.fn("ApiKeys.listOfOrganization")(
        (id: OrganizationId, after?: ApiKeyId) =>
          page(sql`u.organization_id = ${id} AND u.deleted_at IS NULL`, after),
        orUnavailable
      )

      return ApiKeys.of({
        authenticate,
        callerOf: makeCallerOf(sql, authenticateHash, webCallerOf),
        create,
        adopt,
        exists,
        list,
        listOfOrganization,
        roll,
        ...changes,
        ...webKeys
      })
    })
  ).pipe(Layer.provide(StaleKeys.layer))
}

/**
 * Finds a key by its id, and authenticates its hash; the key of the web application has none that could be.
 */
const makeCallerOf = <A, E>(
  sql: SqlClient.SqlClient,
  authenticate: (hash: string) => Effect.Effect<A, E>,
  webCallerOf: WebKeys["webCallerOf"]
) =>
  Effect.fn("ApiKeys.callerOf")(function* (id: ApiKeyId) {
    const row =
      yield* sql`SELECT encode(hash, 'hex') AS hash, kind = 'web' AS is_web FROM api_keys WHERE id = ${id}`.pipe(
        rowAs(Schema.Struct({ hash: Schema.String, isWeb: Schema.Boolean })),
        orUnavailable
      )
    if (row === undefined) return yield* new ApiKeyRejected({ reason: "unknown" })
    return row.isWeb ? yield* webCallerOf(id) : yield* authenticate(row.hash)
  })

/** Valid keys of one user. Requests at once may exceed it by as many as there are. */
export const keysPerUserMax = 1_000

const requireRoom = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, userId: UserId) {
  const now = DateTime.toDateUtc(yield* DateTime.now)
  const full = yield* sql`
    SELECT id FROM api_keys
    WHERE user_id = ${userId} AND kind = 'issued' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})
    ORDER BY id OFFSET ${keysPerUserMax - 1} LIMIT 1`
  if (full.length > 0) return yield* new TooManyKeys({ keysMax: keysPerUserMax })
}, orUnavailable)

/** The reason why a key is refused now; null if it is valid. */
const refusal = (key: KnownKey | null, nowMillis: number): ApiKeyRejected["reason"] | null => {
  if (key === null) return "unknown"
  if (key.revoked) return "revoked"
  return nowMillis >= key.expiresAtMillis ? "expired" : null
}
