import { Cache, Clock, Context, DateTime, Effect, Exit, Layer, Option, type Redacted, Schema } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient, SqlSchema } from "effect/sql"
import { AppConfig } from "../settings/AppConfig.ts"
import type { ApiKeyRecord, Page, Caller } from "../domain/Account.ts"
import {
  ApiKeyNotFound,
  ApiKeyRejected,
  type DatabaseUnavailable,
  type ServerBusy,
  UserDisabled,
  UserNotFound
} from "../domain/Errors.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import * as KeyToken from "./KeyToken.ts"
import { lastUseSeconds, makeLastUse } from "./LastUse.ts"
import { makeStrangerLane } from "./StrangerLane.ts"

/** Looked-up keys that are remembered, known and unknown ones together. */
const cachedKeysMax = 10_000

/** What a key looks like to those who may not see it. */
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

/** What authentication needs to know about a key, its owner and the owner's organization. */
const KeyRow = Schema.Struct({
  keyId: ApiKeyId,
  userId: UserId,
  organizationId: OrganizationId,
  plan: Schema.String,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  revoked: Schema.Boolean,
  disabled: Schema.Boolean
})

interface KnownKey {
  readonly caller: Caller
  readonly expiresAtMillis: number
  readonly revoked: boolean
  readonly disabled: boolean
  /** When the last use is worth writing again. */
  lastUseDueMillis: number
}

/** The answer to one look-up. */
interface LookedUp {
  /** When the look-up began, on the monotonic clock: what it found is at least as new as that. */
  readonly sinceNanos: bigint
  readonly key: KnownKey | null
}

const NewKey = Schema.Struct({
  id: ApiKeyId,
  userId: UserId,
  name: Schema.String,
  hash: Schema.Uint8Array,
  hint: Schema.String,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

/** A key just made. Nobody is shown `key` again. */
export interface CreatedKey extends ApiKeyRecord {
  readonly key: Redacted.Redacted
}

/** Whose new key it is, what the owner calls it, and how long it is good for. */
export interface KeyRequest {
  readonly userId: UserId
  readonly name: string
  /** Null: until it is revoked. */
  readonly expiresAt: DateTime.Utc | null
}

/** The keys by which callers prove who they are. The database holds their SHA-256, never the keys. */
export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * Says who presents the key. What it rests on is at most `auth.cacheSeconds` old, here and in every other process;
     * expiry holds to the millisecond. A key whose check is wrong costs no look-up, and unknown ones are looked up at a bounded
     * pace, beside those that are known to exist.
     */
    readonly authenticate: (
      presented: Redacted.Redacted
    ) => Effect.Effect<Caller, ApiKeyRejected | UserDisabled | DatabaseUnavailable | ServerBusy>
    readonly create: (request: KeyRequest) => Effect.Effect<CreatedKey, UserNotFound | DatabaseUnavailable>
    /**
     * Stores a key that was made elsewhere, unless it is there already: then nothing changes, and a revoked key stays
     * revoked. Tells whether it was stored.
     */
    readonly adopt: (
      request: KeyRequest,
      key: Redacted.Redacted
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Whether there is such a key, be it good or not. */
    readonly exists: (id: ApiKeyId) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Oldest first, from the one after `after` on; expired and revoked ones too. */
    readonly list: (
      userId: UserId,
      after?: ApiKeyId
    ) => Effect.Effect<Page<ApiKeyRecord>, DatabaseUnavailable>
    /** Ends a key for good. A second time changes nothing. */
    readonly revoke: (id: ApiKeyId) => Effect.Effect<ApiKeyRecord, ApiKeyNotFound | DatabaseUnavailable>
  }
>()("parley/auth/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const { cacheSeconds } = (yield* AppConfig).auth
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const services = yield* Effect.context<Digest.Digest>()
      const cache = yield* makeKeyCache(cacheSeconds)
      const noteUse = yield* makeLastUse

      const hashOf = (key: Redacted.Redacted) => Effect.provideContext(KeyToken.hash(key), services)

      // Every request passes here, mostly without a look-up: a span would cost as much as all the rest.
      const authenticate = Effect.fnUntraced(function* (presented: Redacted.Redacted) {
        const parsed = KeyToken.parseKey(presented)
        if (Option.isNone(parsed)) return yield* new ApiKeyRejected({ reason: "malformed" })
        const key = yield* cache.find(Hex.encode(yield* hashOf(parsed.value)))
        const nowMillis = yield* Clock.currentTimeMillis
        const reason = refusal(key, nowMillis)
        if (key === null || reason !== null) return yield* new ApiKeyRejected({ reason: reason ?? "unknown" })
        if (key.disabled) return yield* new UserDisabled()
        if (nowMillis >= key.lastUseDueMillis) {
          key.lastUseDueMillis = nowMillis + lastUseSeconds * 1000
          noteUse(key.caller.keyId)
        }
        return key.caller
      })

      const recordColumns = sql.literal(
        "id, user_id, name, hint, created_at, expires_at, revoked_at, last_used_at"
      )

      // An owner that doesn't exist, or a key that is there already, gives no row.
      const insert = SqlSchema.findOneOption({
        Request: NewKey,
        Result: RecordRow,
        execute: (row) => sql`
          INSERT INTO api_keys (id, user_id, name, hash, hint, expires_at)
          SELECT ${row.id}, id, ${row.name}, ${row.hash}, ${row.hint}, ${row.expiresAt} FROM users
          WHERE id = ${row.userId}
          ON CONFLICT (hash) DO NOTHING
          RETURNING ${recordColumns}`
      })

      const store = Effect.fnUntraced(function* (request: KeyRequest, key: Redacted.Redacted) {
        const hash = yield* hashOf(key)
        const id = ApiKeyId.make(yield* random.uuidV7())
        const made = yield* insert({ ...request, id, hash, hint: KeyToken.hint(key) })
        // Somebody may have tried it before it was there.
        yield* cache.forget(Hex.encode(hash))
        return made
      }, orUnavailable)

      const create = Effect.fn("ApiKeys.create")(function* (request: KeyRequest) {
        const key = yield* Effect.provideService(KeyToken.makeKey, SecureRandom.SecureRandom, random)
        const made = yield* store(request, key)
        if (Option.isNone(made)) return yield* new UserNotFound()
        return { ...made.value, key }
      })

      const adopt = Effect.fn("ApiKeys.adopt")((request: KeyRequest, key: Redacted.Redacted) =>
        Effect.map(store(request, key), Option.isSome)
      )

      const selectId = SqlSchema.findOneOption({
        Request: ApiKeyId,
        Result: Schema.Struct({ id: ApiKeyId }),
        execute: (id) => sql`SELECT id FROM api_keys WHERE id = ${id}`
      })
      const exists = Effect.fn("ApiKeys.exists")(
        (id: ApiKeyId) => Effect.map(selectId(id), Option.isSome),
        orUnavailable
      )

      const select = SqlSchema.findAll({
        Request: Schema.Struct({ userId: UserId, after: ApiKeyId }),
        Result: RecordRow,
        execute: ({ after, userId }) => sql`
          SELECT ${recordColumns} FROM api_keys
          WHERE user_id = ${userId} AND id > ${after} ORDER BY id LIMIT ${pageRowsAsked}`
      })

      const list = Effect.fn("ApiKeys.list")(function* (userId: UserId, after?: ApiKeyId) {
        return pageOf(yield* select({ userId, after: after ?? ApiKeyId.make(firstId) }))
      }, orUnavailable)

      const end = SqlSchema.findOneOption({
        Request: Schema.Struct({ id: ApiKeyId, now: Schema.DateTimeUtcFromDate }),
        Result: Schema.Struct({ ...RecordRow.fields, hash: Schema.Uint8Array }),
        execute: ({ id, now }) => sql`
          UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}) WHERE id = ${id}
          RETURNING hash, ${recordColumns}`
      })

      const revoke = Effect.fn("ApiKeys.revoke")(function* (id: ApiKeyId) {
        const ended = yield* end({ id, now: yield* DateTime.now })
        if (Option.isNone(ended)) return yield* new ApiKeyNotFound()
        const { hash, ...record } = ended.value
        yield* cache.forget(Hex.encode(hash))
        return record
      }, orUnavailable)

      return ApiKeys.of({ authenticate, create, adopt, exists, list, revoke })
    })
  )
}

/** Why a key is refused now, or null. */
const refusal = (key: KnownKey | null, nowMillis: number): ApiKeyRejected["reason"] | null => {
  if (key === null) return "unknown"
  if (key.revoked) return "revoked"
  return nowMillis >= key.expiresAtMillis ? "expired" : null
}

const knownKey = ({ disabled, expiresAt, lastUsedAt, revoked, ...caller }: typeof KeyRow.Type): KnownKey => ({
  caller,
  expiresAtMillis: expiresAt === null ? Infinity : DateTime.toEpochMillis(expiresAt),
  revoked,
  disabled,
  lastUseDueMillis:
    lastUsedAt === null ? -Infinity : DateTime.toEpochMillis(lastUsedAt) + lastUseSeconds * 1000
})

/** Remembers look-ups by the whole hash. Concurrent misses share one; a look-up that fails is not remembered. */
const makeKeyCache = Effect.fnUntraced(function* (cacheSeconds: number) {
  const sql = yield* SqlClient.SqlClient
  const inLane = yield* makeStrangerLane
  const ageNanosMax = BigInt(cacheSeconds) * 1_000_000_000n

  const select = SqlSchema.findOneOption({
    Request: Schema.Uint8Array,
    Result: KeyRow,
    execute: (hash) => sql`
      SELECT k.id AS key_id, k.user_id, u.organization_id, o.plan, k.expires_at, k.last_used_at,
        k.revoked_at IS NOT NULL AS revoked, u.disabled_at IS NOT NULL AS disabled
      FROM api_keys k
      JOIN users u ON u.id = k.user_id
      JOIN organizations o ON o.id = u.organization_id
      WHERE k.hash = ${hash}`
  })

  const cache = yield* Cache.makeWith(
    Effect.fnUntraced(function* (hash: string): Effect.fn.Return<LookedUp, DatabaseUnavailable | ServerBusy> {
      let sinceNanos = 0n
      const lookUp = Effect.gen(function* () {
        sinceNanos = yield* Clock.monotonicTimeNanos
        const row = yield* orUnavailable(select(Buffer.from(hash, "hex")))
        return Option.getOrNull(Option.map(row, knownKey))
      })
      const key = yield* inLane(hash, lookUp)
      return { sinceNanos, key }
    }),
    {
      capacity: cachedKeysMax,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? cacheSeconds * 1000 : 0)
    }
  )

  /**
   * The cache counts from the end of a look-up and by the wall clock, which can be set back. So its answer is taken only
   * if the look-up began after this request came, or if it is young enough by the monotonic clock.
   */
  const find = Effect.fnUntraced(function* (hash: string) {
    const cameNanos = yield* Clock.monotonicTimeNanos
    const found = yield* Cache.get(cache, hash)
    if (found.sinceNanos >= cameNanos) return found.key
    if ((yield* Clock.monotonicTimeNanos) - found.sinceNanos <= ageNanosMax) return found.key
    yield* Cache.invalidateWhen(cache, hash, (entry) => entry === found)
    return (yield* Cache.get(cache, hash)).key
  })

  return { find, forget: (hash: string) => Cache.invalidate(cache, hash) }
})
