import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ApiKeyId, ResponseId, UserId } from "../domain/Ids.ts"
import { rowsAs } from "../sql/rows.ts"
import { expiry, makeTokenCounters, reservationSeconds } from "./TokenCounters.ts"

const renewalsPerReservation = 3
export const renewSeconds = reservationSeconds / renewalsPerReservation

/** The tokens reserved for one call of a model. */
export interface Reservation {
  readonly responseId: ResponseId
  readonly part: number
  readonly userId: UserId
  /** The key as in TokenRequest. */
  readonly limitedKey: ApiKeyId | null
  readonly day: string
  readonly month: string
  readonly tokens: number
}

const Lost = Schema.Struct({ responseId: Schema.String, part: Schema.Int })

/** The reservations of all processes. */
export const makeReservationTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { apply } = yield* makeTokenCounters

  /** Releases the expired reservations of one user or of all, and those of these responses. */
  const expire = (userId: UserId | null, ids: ReadonlyArray<ResponseId>) => sql`
    WITH stale AS (
      SELECT response_id, part FROM token_reservations
      WHERE response_id = ANY (${ids}::uuid[])
        OR (expires_at <= clock_timestamp() AND (${userId}::uuid IS NULL OR user_id = ${userId}::uuid))
      FOR UPDATE SKIP LOCKED
    ), changed AS (
      DELETE FROM token_reservations AS t USING stale
      WHERE t.response_id = stale.response_id AND t.part = stale.part
      RETURNING t.user_id, t.key_id, t.day, t.month, 0::bigint AS used, t.tokens AS reserved
    ), ${apply}`

  /**
   * Renews reservations, and returns those that no longer exist. Rows that another statement has locked are
   * skipped, because waiting for them in another order could deadlock.
   */
  const renew = Effect.fnUntraced(function* (held: ReadonlyArray<Reservation>) {
    const ids = held.map((one) => one.responseId)
    const expired = yield* sql`
      WITH mine AS (
        SELECT response_id, part FROM token_reservations WHERE response_id = ANY (${ids}::uuid[])
        FOR UPDATE SKIP LOCKED
      ), renewed AS (
        UPDATE token_reservations AS t SET expires_at = ${expiry(sql)} FROM mine
        WHERE t.response_id = mine.response_id AND t.part = mine.part
      )
      SELECT held.response_id, held.part
      FROM unnest(${ids}::uuid[], ${held.map((one) => one.part)}::int[]) AS held (response_id, part)
      WHERE NOT EXISTS (
        SELECT 1 FROM token_reservations AS t WHERE t.response_id = held.response_id AND t.part = held.part
      )`.pipe(rowsAs(Lost))
    const lost = new Set(expired.map(({ part, responseId }) => `${responseId} ${part}`))
    return held.filter(({ part, responseId }) => lost.has(`${responseId} ${part}`))
  })

  /**
   * Restores reservations that expired during their response, even beyond the limit: this process was
   * suspended, or did not reach the database. The response spends these tokens in any case, so they must not
   * be granted a second time.
   */
  const restore = (lost: ReadonlyArray<Reservation>) => {
    const column = <A>(of: (one: Reservation) => A) => lost.map(of)
    return sql`
      WITH again AS (
        INSERT INTO token_reservations (response_id, part, user_id, key_id, day, month, tokens, expires_at)
        SELECT response_id, part, user_id, nullif(key_id, '')::uuid, day, month, tokens, ${expiry(sql)}
        FROM unnest(
          ${column((one) => one.responseId)}::uuid[], ${column((one) => one.part)}::int[],
          ${column((one) => one.userId)}::uuid[], ${column((one) => one.limitedKey ?? "")}::text[],
          ${column((one) => one.day)}::date[], ${column((one) => one.month)}::date[],
          ${column((one) => one.tokens)}::bigint[]
        ) AS lost (response_id, part, user_id, key_id, day, month, tokens)
        WHERE NOT EXISTS (SELECT 1 FROM usage_records AS u WHERE u.response_id = lost.response_id)
        ON CONFLICT DO NOTHING
        RETURNING user_id, key_id, day, month, tokens
      ), changed AS (
        SELECT user_id, key_id, day, month, 0::bigint AS used, -tokens AS reserved FROM again
      ), ${apply}`
  }

  return { expire, renew, restore }
})

/**
 * Releases every reservation. Only for a process that shares the database with no other, before its first
 * reservation.
 */
export const endAllReservations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { expire } = yield* makeReservationTable
  yield* sql`UPDATE token_reservations SET expires_at = clock_timestamp()`
  yield* expire(null, [])
})

/** The reservations of the responses that this process works on. */
export const makeReservations = Effect.gen(function* () {
  const table = yield* makeReservationTable
  const running = new Map<ResponseId, ReadonlyArray<Reservation>>()

  /** Responses whose reservation may be there or not, because the answer was lost. */
  const uncertain = new Set<ResponseId>()

  const expire = Effect.fnUntraced(function* (userId: UserId | null) {
    const ids = [...uncertain]
    yield* table.expire(userId, ids)
    for (const id of ids) uncertain.delete(id)
  })

  const renew = Effect.gen(function* () {
    const expired = yield* table.renew([...running.values()].flat())
    const needed = expired.filter(({ responseId }) => running.has(responseId))
    if (needed.length === 0) return
    yield* Effect.logWarning("Token reservations of running requests had expired, and were restored.")
    yield* table.restore(needed)
  })

  return {
    add: (reservation: Reservation): void => {
      const { responseId } = reservation
      running.set(responseId, [...(running.get(responseId) ?? []), reservation])
    },
    /** Stops renewing a response's reservations. They are released with its record, or expire. */
    forget: (id: ResponseId): void => {
      running.delete(id)
    },
    markUncertain: (id: ResponseId): void => {
      uncertain.add(id)
    },
    /** Releases the expired reservations of one user or of all, and the uncertain ones of this process. */
    expire,
    /**
     * Renews those of this process, and releases expired ones. To be run several times in the life of a
     * reservation.
     */
    renewAll: Effect.suspend(() => Effect.andThen(running.size === 0 ? Effect.void : renew, expire(null)))
  }
})
