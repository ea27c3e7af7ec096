import { DateTime, Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { TokenLimits } from "../domain/Allowance.ts"
import type { ResponseId, UserId } from "../domain/Ids.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** A reservation expires so long after its last renewal. */
const reservationSeconds = 60
const renewalsPerReservation = 3
export const renewSeconds = reservationSeconds / renewalsPerReservation

/** The tokens that a request asks for. */
export interface TokenRequest {
  readonly responseId: ResponseId
  /** 0 for the first call of a model, and one more for each later call. */
  readonly part: number
  readonly userId: UserId
  /** The most that it can spend. */
  readonly most: number
  /** What such a request usually spends: so much is reserved if it is left. */
  readonly usual: number
  /** What it spends at least. A user who has anything left gets this much, even beyond the limit. */
  readonly least: number
}

/** The tokens that were reserved, and those that are left beside them. Both are infinite where the user has no limit. */
export interface Grant {
  readonly tokens: number
  readonly left: number
}

/** The windows of a user after a request. */
const Counted = Schema.Struct({
  granted: Schema.Int,
  day: Schema.String,
  dayUsed: Schema.Int,
  dayReserved: Schema.Int,
  month: Schema.String,
  monthUsed: Schema.Int,
  monthReserved: Schema.Int
})
export type Counted = typeof Counted.Type

/** The tokens reserved for one call of a model. */
export interface Reservation {
  readonly responseId: ResponseId
  readonly part: number
  readonly userId: UserId
  readonly day: string
  readonly month: string
  readonly tokens: number
}

const Lost = Schema.Struct({ responseId: Schema.String, part: Schema.Int })

/** The first days of the windows that a time is in, UTC. */
export const windowsOf = (now: DateTime.Utc) => {
  const day = DateTime.formatIsoDateUtc(now)
  return { day, month: `${day.slice(0, "2000-01".length)}-01` }
}

/** When a reservation that is made or renewed now expires, by the clock of the database. */
const expiry = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`clock_timestamp() + make_interval(secs => ${reservationSeconds})`

/**
 * One row per user with the tokens of its windows. Each change, also with the reservations, is one statement that relies on the
 * lock of that row alone: PostgreSQL reads a row again after it waited for it, but not other rows. Windows are those of the
 * times that are passed in. They never go back, and are at most a day ahead of the database's clock, so that a process with a
 * wrong clock can't close the windows of a year.
 */
export const makeTokenCounters = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql`day::text, day_used::float8, day_reserved::float8,
    month::text, month_used::float8, month_reserved::float8, granted::float8`

  const today = (day: string) => sql`least(${day}::date, clock_timestamp()::date + 1)`

  const count = (ask: TokenRequest, limits: TokenLimits, day: string) =>
    sql`
      WITH counted AS (
        UPDATE token_counters AS c
        SET (day, day_used, day_reserved, month, month_used, month_reserved, granted) = (
          SELECT w.day, w.day_used, w.day_reserved + g.granted,
            w.month, w.month_used, w.month_reserved + g.granted, g.granted
          FROM (SELECT day, date_trunc('month', day)::date AS month
              FROM (SELECT ${today(day)} AS day) AS asked) AS now,
            LATERAL (SELECT
              greatest(c.day, now.day) AS day, greatest(c.month, now.month) AS month,
              CASE WHEN c.day < now.day THEN 0 ELSE c.day_used END AS day_used,
              CASE WHEN c.day < now.day THEN 0 ELSE c.day_reserved END AS day_reserved,
              CASE WHEN c.month < now.month THEN 0 ELSE c.month_used END AS month_used,
              CASE WHEN c.month < now.month THEN 0 ELSE c.month_reserved END AS month_reserved
            ) AS w,
            LATERAL (SELECT least(
              ${limits.daily}::bigint - w.day_used - w.day_reserved,
              ${limits.monthly}::bigint - w.month_used - w.month_reserved) AS tokens) AS remaining,
            LATERAL (SELECT CASE WHEN remaining.tokens <= 0 THEN 0 ELSE least(
              ${ask.most}::bigint,
              greatest(${ask.least}::bigint, least(remaining.tokens, ${ask.usual}::bigint))
            ) END AS granted) AS g
        )
        WHERE c.user_id = ${ask.userId}::uuid
        RETURNING c.*
      ), held AS (
        INSERT INTO token_reservations (response_id, part, user_id, day, month, tokens, expires_at)
        SELECT ${ask.responseId}::uuid, ${ask.part}, user_id, day, month, granted, ${expiry(sql)}
        FROM counted WHERE granted > 0
      )
      SELECT ${columns} FROM counted`.pipe(rowAs(Counted))

  /**
   * Starts with the sums of the records, for a user who had no limit so far. A record that is being written meanwhile would
   * neither be seen here nor find the new row; the lock waits for it, and lets later ones see the row.
   */
  const create = (userId: UserId, day: string) =>
    Effect.andThen(
      sql`LOCK TABLE token_counters IN SHARE ROW EXCLUSIVE MODE`,
      sql`
        INSERT INTO token_counters (user_id, day, day_used, month, month_used)
        SELECT ${userId}::uuid, now.day, coalesce(spent.day, 0), now.month, coalesce(spent.month, 0)
        FROM (SELECT day, date_trunc('month', day)::date AS month
            FROM (SELECT ${today(day)} AS day) AS asked) AS now,
          LATERAL (SELECT sum(input_tokens::bigint + output_tokens) AS month,
              sum(input_tokens::bigint + output_tokens) FILTER (WHERE created_at >= now.day) AS day
            FROM usage_records WHERE user_id = ${userId}::uuid AND created_at >= now.month) AS spent
        WHERE NOT EXISTS (SELECT 1 FROM token_counters WHERE user_id = ${userId}::uuid)`
    ).pipe(sql.withTransaction)

  /** Reserves what is granted, which is 0 where nothing is left. */
  const reserve = Effect.fnUntraced(function* (ask: TokenRequest, limits: TokenLimits, now: DateTime.Utc) {
    const { day } = windowsOf(now)
    const counted = yield* count(ask, limits, day)
    if (counted !== undefined) return counted
    yield* create(ask.userId, day)
    return (yield* count(ask, limits, day)) ?? (yield* Effect.die(new Error("A user has no token counters.")))
  })

  const read = (userId: UserId) =>
    sql`SELECT ${columns} FROM token_counters WHERE user_id = ${userId}::uuid`.pipe(rowAs(Counted))

  /**
   * The end of a statement whose `events` have, by user, day and month, the tokens that were used and that are no longer
   * reserved. Only the newest window of each user counts. Rows are locked in one order, so two such statements never deadlock.
   */
  const apply: Statement.Fragment = sql`
    newest AS (
      SELECT *, max(day) OVER (PARTITION BY user_id) AS newest_day,
        max(month) OVER (PARTITION BY user_id) AS newest_month
      FROM events
    ), changes AS MATERIALIZED (
      SELECT user_id, newest_day AS day, newest_month AS month,
        coalesce(sum(used) FILTER (WHERE day = newest_day), 0) AS day_used,
        coalesce(sum(reserved) FILTER (WHERE day = newest_day), 0) AS day_reserved,
        coalesce(sum(used) FILTER (WHERE month = newest_month), 0) AS month_used,
        coalesce(sum(reserved) FILTER (WHERE month = newest_month), 0) AS month_reserved
      FROM newest GROUP BY user_id, newest_day, newest_month
    ), locked AS MATERIALIZED (
      SELECT user_id FROM token_counters WHERE user_id IN (SELECT user_id FROM changes)
      ORDER BY user_id FOR UPDATE
    )
    UPDATE token_counters AS c SET
      day = greatest(c.day, changes.day), month = greatest(c.month, changes.month),
      day_used = changes.day_used * (c.day <= changes.day)::int + c.day_used * (c.day >= changes.day)::int,
      day_reserved = c.day_reserved * (c.day >= changes.day)::int
        - changes.day_reserved * (c.day = changes.day)::int,
      month_used = changes.month_used * (c.month <= changes.month)::int
        + c.month_used * (c.month >= changes.month)::int,
      month_reserved = c.month_reserved * (c.month >= changes.month)::int
        - changes.month_reserved * (c.month = changes.month)::int
    FROM changes JOIN locked ON locked.user_id = changes.user_id
    WHERE c.user_id = changes.user_id`

  return { reserve, read, apply }
})

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
    ), events AS (
      DELETE FROM token_reservations AS t USING stale
      WHERE t.response_id = stale.response_id AND t.part = stale.part
      RETURNING t.user_id, t.day, t.month, 0::bigint AS used, t.tokens AS reserved
    ), ${apply}`

  /**
   * Renews reservations, and returns those that are gone. Rows that another statement has locked are skipped, because waiting
   * for them in another order could deadlock.
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
   * Restores reservations that expired while their response runs, whatever is left: this process was suspended, or did not
   * reach the database. What the response spends will count anyway, and must not be granted a second time.
   */
  const restore = (lost: ReadonlyArray<Reservation>) => {
    const column = <A>(of: (one: Reservation) => A) => lost.map(of)
    return sql`
      WITH again AS (
        INSERT INTO token_reservations (response_id, part, user_id, day, month, tokens, expires_at)
        SELECT lost.*, ${expiry(sql)}
        FROM unnest(
          ${column((one) => one.responseId)}::uuid[], ${column((one) => one.part)}::int[],
          ${column((one) => one.userId)}::uuid[], ${column((one) => one.day)}::date[],
          ${column((one) => one.month)}::date[], ${column((one) => one.tokens)}::bigint[]
        ) AS lost (response_id, part, user_id, day, month, tokens)
        WHERE NOT EXISTS (SELECT 1 FROM usage_records AS u WHERE u.response_id = lost.response_id)
        ON CONFLICT DO NOTHING
        RETURNING user_id, day, month, tokens
      ), events AS (
        SELECT user_id, day, month, 0::bigint AS used, -tokens AS reserved FROM again
      ), ${apply}`
  }

  return { expire, renew, restore }
})

/** Releases every reservation. Only for a process that shares the database with no other, before its first reservation. */
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
    /** Its reservations are released with its record, or expire. */
    forget: (id: ResponseId): void => {
      running.delete(id)
    },
    markUncertain: (id: ResponseId): void => {
      uncertain.add(id)
    },
    /** Releases the expired reservations of one user or of all, and the uncertain ones of this process. */
    expire,
    /** Renews those of this process, and releases expired ones. To be run several times in the life of a reservation. */
    renewAll: Effect.suspend(() => Effect.andThen(running.size === 0 ? Effect.void : renew, expire(null)))
  }
})
