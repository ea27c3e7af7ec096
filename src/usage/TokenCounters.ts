import { Array as Arr, DateTime, Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Statement } from "effect/sql"
import type { TokenLimits } from "../domain/Allowance.ts"
import { type ResponseId, UserId } from "../domain/Ids.ts"

/** How long what a process holds stays held after its last renewal. */
const reservationSeconds = 60
/** Renewals in that time. */
const beatsPerReservation = 3
export const beatSeconds = reservationSeconds / beatsPerReservation

/** One request may hold at most this share of what is left, unless it usually needs more: others are to run beside it. */
const shareOfLeft = 4

/** What a request asks to hold. All are counts of tokens. */
export interface Ask {
  readonly responseId: ResponseId
  /** 0 for the first call of a model, and counted on for every later one. */
  readonly part: number
  readonly userId: UserId
  /** What it can spend at most. */
  readonly most: number
  /** With this a request of its kind does well. */
  readonly usual: number
  /** What it spends at least. Who has anything left gets this much, and may so come to overspend. */
  readonly least: number
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

/** The first days of the windows that a time is in, UTC. */
export const windowsOf = (now: DateTime.Utc) => {
  const day = DateTime.formatIsoDateUtc(now)
  return { day, month: `${day.slice(0, "2000-01".length)}-01` }
}

/**
 * The one row per user by which tokens are limited, and what of it is held. Every change is one statement that rests on that
 * row's lock alone: PostgreSQL looks at a row again when it had to wait for it, but not at others. Windows are those of the
 * times that are passed in and never go back; what a process holds lapses by the clock of the database.
 */
export const makeTokenCounters = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const expiry = sql`clock_timestamp() + make_interval(secs => ${reservationSeconds})`
  const columns = sql`day::text, day_used::float8, day_reserved::float8,
    month::text, month_used::float8, month_reserved::float8, granted::float8`

  const count = ({ ask, day, limits, month }: AskAt) =>
    sql`
      WITH counted AS (
        UPDATE token_counters AS c
        SET (day, day_used, day_reserved, month, month_used, month_reserved, granted) = (
          SELECT w.day, w.day_used, w.day_reserved + g.granted,
            w.month, w.month_used, w.month_reserved + g.granted, g.granted
          FROM (SELECT
              greatest(c.day, ${day}::date) AS day, greatest(c.month, ${month}::date) AS month,
              CASE WHEN c.day < ${day}::date THEN 0 ELSE c.day_used END AS day_used,
              CASE WHEN c.day < ${day}::date THEN 0 ELSE c.day_reserved END AS day_reserved,
              CASE WHEN c.month < ${month}::date THEN 0 ELSE c.month_used END AS month_used,
              CASE WHEN c.month < ${month}::date THEN 0 ELSE c.month_reserved END AS month_reserved
            ) AS w,
            LATERAL (SELECT least(
              ${limits.daily}::bigint - w.day_used - w.day_reserved,
              ${limits.monthly}::bigint - w.month_used - w.month_reserved) AS tokens) AS remaining,
            LATERAL (SELECT CASE WHEN remaining.tokens <= 0 THEN 0 ELSE least(
              ${ask.most}::bigint,
              greatest(${ask.least}::bigint, least(
                remaining.tokens, greatest(remaining.tokens / ${shareOfLeft}, ${ask.usual}::bigint)))
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

  /** Begins with what the records say of the windows, for a user who had no limit so far. */
  const create = (userId: UserId, { day, month }: ReturnType<typeof windowsOf>) => sql`
    INSERT INTO token_counters (user_id, day, day_used, month, month_used)
    SELECT ${userId}::uuid, ${day}::date,
      coalesce(sum(input_tokens::bigint + output_tokens) FILTER (WHERE created_at >= ${day}::date), 0),
      ${month}::date, coalesce(sum(input_tokens::bigint + output_tokens), 0)
    FROM usage_records WHERE user_id = ${userId}::uuid AND created_at >= ${month}::date
    ON CONFLICT (user_id) DO NOTHING`

  /** Holds what is granted, which is 0 where nothing is left. */
  const reserve = Effect.fnUntraced(function* (ask: Ask, limits: TokenLimits, now: DateTime.Utc) {
    const request: AskAt = { ask, limits, ...windowsOf(now) }
    const counted = yield* count(request)
    if (Option.isSome(counted)) return counted.value
    yield* create(ask.userId, request)
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

  const renew = (ids: ReadonlyArray<ResponseId>) => sql`
    UPDATE token_reservations SET expires_at = ${expiry} WHERE response_id = ANY (${ids}::uuid[])`

  return { reserve, read, apply, lapse, renew }
})

interface AskAt {
  readonly ask: Ask
  readonly limits: TokenLimits
  readonly day: string
  readonly month: string
}
