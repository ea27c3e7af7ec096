import { Cache, Clock, DateTime, Duration, Effect, Exit, Option, Schema, Semaphore, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { Caller } from "../domain/Account.ts"
import { type DatabaseUnavailable, ServerBusy } from "../domain/Errors.ts"
import { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { keyLimitNames, KeyLimits } from "../domain/KeyLimits.ts"
import { monotonicSeconds } from "../runtime/Monotonic.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { StaleKeys } from "./StaleKeys.ts"

/** Cached look-ups, of existing and of unknown keys together. */
const cachedKeysMax = 10_000
/** Keys that are known to exist, and so are not limited. */
const existingKeysMax = 10_000
/** Concurrent look-ups of keys not seen before, and those that wait for them; more are refused. */
const unseenAtOnceMax = 4
const unseenWaitingMax = 500
const retryAfterSeconds = 5
/** Unknown keys looked up per second, after a burst of one second; more wait. */
const unknownPerSecond = 50
const burstSeconds = 1

const KeyRow = Schema.Struct({
  keyId: ApiKeyId,
  userId: UserId,
  organizationId: OrganizationId,
  plan: Schema.String,
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  revoked: Schema.Boolean,
  disabled: Schema.Boolean,
  ...KeyLimits.fields
})

/** The facts about a key, its owner and the owner's organization that authentication needs. */
export interface KnownKey {
  readonly caller: Caller
  readonly expiresAtMillis: number
  readonly revoked: boolean
  readonly disabled: boolean
  /** The last use that is recorded, or about to be. */
  lastUsedAtMillis: number
}

const knownKey = ({ disabled, expiresAt, lastUsedAt, revoked, ...row }: typeof KeyRow.Type): KnownKey => ({
  caller: { ...Struct.omit(row, keyLimitNames), keyLimits: Struct.pick(row, keyLimitNames) },
  expiresAtMillis: expiresAt === null ? Infinity : DateTime.toEpochMillis(expiresAt),
  revoked,
  disabled,
  lastUsedAtMillis: lastUsedAt === null ? -Infinity : DateTime.toEpochMillis(lastUsedAt)
})

interface LookedUp {
  /** When the look-up began, on the monotonic clock: its result is at least as new as that. */
  readonly sinceNanos: bigint
  readonly key: KnownKey | null
}

/**
 * Finds keys by their whole hash, cached for `cacheSeconds`, or until this process changes their user or
 * organization; null for an unknown key. Concurrent misses share one look-up, and a look-up that fails is not
 * cached.
 */
export const makeKeyLookup = Effect.fnUntraced(function* (cacheSeconds: number) {
  const sql = yield* SqlClient.SqlClient
  const limited = yield* makeUnknownKeyLimit
  const stale = yield* StaleKeys
  const ageNanosMax = BigInt(cacheSeconds) * 1_000_000_000n

  const read = (hash: string) =>
    sql`
      SELECT k.id AS key_id, k.user_id, u.organization_id, o.plan, k.expires_at, k.last_used_at,
        k.revoked_at IS NOT NULL AS revoked, u.disabled_at IS NOT NULL AS disabled,
        k.daily_tokens::float8, k.monthly_tokens::float8, k.requests_per_minute
      FROM api_keys k
      JOIN users u ON u.id = k.user_id
      JOIN organizations o ON o.id = u.organization_id
      WHERE k.hash = ${Buffer.from(hash, "hex")} AND k.kind = 'issued'`.pipe(rowAs(KeyRow), orUnavailable)

  const lookUp = (hash: string): Effect.Effect<LookedUp, DatabaseUnavailable | ServerBusy> =>
    limited(
      hash,
      Effect.gen(function* () {
        const sinceNanos = yield* Clock.monotonicTimeNanos
        const row = yield* read(hash)
        return { sinceNanos, key: row === undefined ? null : knownKey(row) }
      })
    )

  const cache = yield* Cache.makeWith(lookUp, {
    capacity: cachedKeysMax,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? cacheSeconds * 1000 : 0)
  })

  /**
   * The cache measures age from the end of a look-up and by the wall clock, which can be set back. So its
   * result counts only if the look-up began after this request arrived, or is young enough by the monotonic
   * clock, and never if this process has changed the user since.
   */
  const find = Effect.fnUntraced(function* (hash: string) {
    const arrivedNanos = yield* Clock.monotonicTimeNanos
    const found = yield* Cache.get(cache, hash)
    const isStale = found.key !== null && stale.isStale(found.key.caller, found.sinceNanos)
    if (!isStale && found.sinceNanos >= arrivedNanos) return found.key
    const isOld = (yield* Clock.monotonicTimeNanos) - found.sinceNanos > ageNanosMax
    if (!isStale && !isOld) return found.key
    yield* Cache.invalidateWhen(cache, hash, (entry) => entry === found)
    return (yield* Cache.get(cache, hash)).key
  })

  return { find, forget: (hash: string) => Cache.invalidate(cache, hash) }
})

/**
 * A rate limit for unknown keys. Anybody can make up keys with a valid checksum; their look-ups must neither
 * take the database away from existing keys nor keep the process busy.
 */
const makeUnknownKeyLimit = Effect.gen(function* () {
  const queue = yield* Semaphore.make(unseenAtOnceMax + unseenWaitingMax)
  const atOnce = yield* Semaphore.make(unseenAtOnceMax)
  const existing = new Set<string>()
  /** When the unknown keys so far would have arrived, had they arrived evenly. */
  let dueSeconds = 0

  const remember = (hash: string) => {
    const [oldest] = existing
    if (existing.size >= existingKeysMax && oldest !== undefined) existing.delete(oldest)
    existing.add(hash)
  }

  const paced = Effect.fnUntraced(function* <E, R>(hash: string, lookUp: Effect.Effect<LookedUp, E, R>) {
    const early = dueSeconds - burstSeconds - (yield* monotonicSeconds)
    if (early > 0) yield* Effect.sleep(Duration.seconds(early))
    const found = yield* lookUp
    if (found.key === null) {
      dueSeconds = Math.max(dueSeconds, yield* monotonicSeconds) + 1 / unknownPerSecond
    } else remember(hash)
    return found
  })

  return <E, R>(
    hash: string,
    lookUp: Effect.Effect<LookedUp, E, R>
  ): Effect.Effect<LookedUp, E | ServerBusy, R> =>
    Effect.suspend(() =>
      existing.has(hash)
        ? lookUp
        : atOnce.withPermit(paced(hash, lookUp)).pipe(
            queue.withPermitsIfAvailable(1),
            Effect.flatMap(
              Option.match({
                onNone: () => Effect.fail(new ServerBusy({ retryAfterSeconds })),
                onSome: Effect.succeed
              })
            )
          )
    )
})
