import type { TokenLimits } from "../domain/Allowance.ts"
import { type ResponseId, UserId } from "../domain/Ids.ts"
import { Array as Arr, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"

/** How long what a process holds stays held after its last renewal. */
const reservationSeconds = 60
/** Renewals in that time. */
const beatsPerReservation = 3
export const beatSeconds = reservationSeconds / beatsPerReservation

/** What a request asks to hold. All are counts of tokens. */
export interface Ask {
  readonly responseId: ResponseId
  /** 0 for the first call of a model, and counted on for every later one. */
  readonly part: number
  readonly userId: UserId
  /** What it can spend at most. */
  readonly most: number
  /** What such a request usually spends: so much is held if it is left. */
  readonly usual: number
  /** What it spends at least. Who has anything left gets this much, and may so come to overspend. */
  readonly least: number
}

/** What a request holds, and what nobody holds beside it. Both are infinite where the user has no limit. */
export interface Grant {
  readonly tokens: number
  readonly left: number
}

/** The windows of a user as they are after an ask. */
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

/** One part of what a response holds. */
export interface Held {
  readonly responseId: ResponseId
  readonly part: number
  readonly userId: UserId
  readonly day: string
  readonly month: string
  readonly tokens: number
}

const Lost = Schema.Array(Schema.Struct({ responseId: Schema.String, part: Schema.Int }))

/** The first days of the windows that a time is in, UTC. */
export const windowsOf = (now: DateTime.Utc) => {
  const day = DateTime.formatIsoDateUtc(now)
  return { day, month: `${day.slice(0, "2000-01".length)}-01` }
}

/**
 * The one row per user by which tokens are limited, and what of it is held. Every change is one statement that rests on that
 * row's lock alone: PostgreSQL looks at a row again when it had to wait for it, but not at others. Windows are those of the
 * times that are passed in and never go back, nor more than a day before the clock of the database, so that a process whose
 * clock is wrong can't close the windows of a year. What a process holds lapses by the clock of the database.
 */
export const makeTokenCounters = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const expiry = sql`clock_timestamp() + make_interval(secs => ${reservationSeconds})`
  const columns = sql`day::text, day_used::float8, day_reserved::float8,
    month::text, month_used::float8, month_reserved::float8, granted::float8`

  const today = (day: string) => sql`least(${day}::date, clock_timestamp()::date + 1)`

  const count = ({ ask, day, limits }: AskAt) =>
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
        SELECT ${ask.responseId}::uuid, ${ask.part}, user_id, day, month, granted, ${expiry}
        FROM counted WHERE granted > 0
      )
      SELECT ${columns} FROM counted`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Schema.Array(Counted))),
      Effect.map(Arr.head)
    )

  /**
   * Begins with what the records say of the windows, for a user who had no limit so far. A record that is being written
   * meanwhile would neither be seen here nor find the new row; the lock waits for it, and lets later ones see the row.
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

  /** Holds what is granted, which is 0 where nothing is left. */
  const reserve = Effect.fnUntraced(function* (ask: Ask, limits: TokenLimits, now: DateTime.Utc) {
    const request: AskAt = { ask, limits, day: windowsOf(now).day }
    const counted = yield* count(request)
    if (Option.isSome(counted)) return counted.value
    yield* create(ask.userId, request.day)
    return Option.getOrThrow(yield* count(request))
  })

  const read = SqlSchema.findOneOption({
    Request: UserId,
    Result: Counted,
    execute: (userId) => sql`SELECT ${columns} FROM token_counters WHERE user_id = ${userId}::uuid`
  })

  /**
   * The end of a statement whose `events` say by user, day and month what was used and what is no longer reserved. Only
   * the newest window of each user counts. Rows are locked in one order, so that two such statements never deadlock.
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

  /** Gives back what nobody renewed in time, of one user or of all, and what these responses hold. */
  const lapse = (userId: UserId | null, ids: ReadonlyArray<ResponseId>) => sql`
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
   * Holds for longer, and tells what isn't held any more. What somebody else is working on is left to them: to wait for it
   * would be to wait in another order than they do.
   */
  const renew = Effect.fnUntraced(function* (held: ReadonlyArray<Held>) {
    const ids = held.map((one) => one.responseId)
    const found = yield* sql`
      WITH mine AS (
        SELECT response_id, part FROM token_reservations WHERE response_id = ANY (${ids}::uuid[])
        FOR UPDATE SKIP LOCKED
      ), renewed AS (
        UPDATE token_reservations AS t SET expires_at = ${expiry} FROM mine
        WHERE t.response_id = mine.response_id AND t.part = mine.part
      )
      SELECT held.response_id, held.part
      FROM unnest(${ids}::uuid[], ${held.map((one) => one.part)}::int[]) AS held (response_id, part)
      WHERE NOT EXISTS (
        SELECT 1 FROM token_reservations AS t WHERE t.response_id = held.response_id AND t.part = held.part
      )`
    const lost = new Set(
      (yield* Schema.decodeUnknownEffect(Lost)(found)).map(({ part, responseId }) => `${responseId} ${part}`)
    )
    return held.filter(({ part, responseId }) => lost.has(`${responseId} ${part}`))
  })

  /**
   * Holds again what lapsed though its response still runs, whatever is left: this process slept, or did not reach the
   * database. What the response spends will count anyway, and nobody is to be granted it a second time.
   */
  const holdAgain = (lost: ReadonlyArray<Held>) => {
    const column = <A>(of: (one: Held) => A) => lost.map(of)
    return sql`
      WITH again AS (
        INSERT INTO token_reservations (response_id, part, user_id, day, month, tokens, expires_at)
        SELECT lost.*, ${expiry}
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

  return { reserve, read, apply, lapse, renew, holdAgain }
})

/** Ends every reservation. Only for a process that shares the database with no other, before its first reservation. */
export const endAllReservations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { lapse } = yield* makeTokenCounters
  yield* sql`UPDATE token_reservations SET expires_at = clock_timestamp()`
  yield* lapse(null, [])
})

interface AskAt {
  readonly ask: Ask
  readonly limits: TokenLimits
  readonly day: string
}

/** What one process holds of token limits for the responses that it works on. */
export const makeHoldings = (counters: Effect.Success<typeof makeTokenCounters>) => {
  const holding = new Map<ResponseId, ReadonlyArray<Held>>()

  /** Responses whose reservation may or may not have been made: the answer to it was lost. */
  const doubtful = new Set<ResponseId>()

  const lapse = Effect.fnUntraced(function* (userId: UserId | null) {
    const ids = [...doubtful]
    yield* counters.lapse(userId, ids)
    for (const id of ids) doubtful.delete(id)
  })

  const renew = Effect.gen(function* () {
    const lost = yield* counters.renew([...holding.values()].flat())
    const running = lost.filter(({ responseId }) => holding.has(responseId))
    if (running.length === 0) return
    yield* Effect.logWarning("What running requests hold of token limits had lapsed; it is held again.")
    yield* counters.holdAgain(running)
  })

  return {
    add: (held: Held): void => {
      holding.set(held.responseId, [...(holding.get(held.responseId) ?? []), held])
    },
    /** What is held for it is given back by whoever records it, or else lapses. */
    forget: (id: ResponseId): void => {
      holding.delete(id)
    },
    doubt: (id: ResponseId): void => {
      doubtful.add(id)
    },
    /** Gives back what nobody renewed in time, of one user or of all, and what is in doubt here. */
    lapse,
    /** Renews all, and lets lapse what others didn't renew. To be done several times within the life of a reservation. */
    keepUp: Effect.suspend(() => Effect.andThen(holding.size === 0 ? Effect.void : renew, lapse(null)))
  }
}
