import { Array as Arr, DateTime, Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Caller } from "../domain/Account.ts"
import type { TokenLimits } from "../domain/Allowance.ts"
import { ApiKeyId, type ResponseId, UserId } from "../domain/Ids.ts"
import { hasTokenLimit } from "../domain/KeyLimits.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** A reservation expires this long after its last renewal. */
export const reservationSeconds = 60

/** The tokens that a request asks for. */
export interface TokenRequest {
  readonly responseId: ResponseId
  /** 0 for the first call of a model, and one more for each later call. */
  readonly part: number
  readonly userId: UserId
  /** The key of the request, if the key has token limits of its own. */
  readonly limitedKey: ApiKeyId | null
  /** The most that it can spend. */
  readonly most: number
  /** Usual tokens of such a request, which are reserved if enough are left. */
  readonly usual: number
  /**
   * Least tokens of such a request. If anything is left, the request gets this many, even beyond the limit.
   */
  readonly least: number
}

/** The owners whose limits apply to a request of the caller. */
export const ownersOf = ({
  keyId,
  keyLimits,
  userId
}: Caller): Pick<TokenRequest, "userId" | "limitedKey"> => ({
  userId,
  limitedKey: hasTokenLimit(keyLimits) ? keyId : null
})

/** The tokens that were reserved, and those that are left beside them. Both are infinite without a limit. */
export interface Grant {
  readonly tokens: number
  readonly left: number
}

/** The owner of token limits and counters. */
const OwnerId = Schema.Union([UserId, ApiKeyId])
type OwnerId = typeof OwnerId.Type

/** The windows of a user or of a key. */
const Counted = Schema.Struct({
  day: Schema.String,
  dayUsed: Schema.Int,
  dayReserved: Schema.Int,
  month: Schema.String,
  monthUsed: Schema.Int,
  monthReserved: Schema.Int
})
export type Counted = typeof Counted.Type

/** The counters after a request, with the granted tokens and the limits that bounded them. */
const Asked = Schema.Struct({
  ...Counted.fields,
  owner: Schema.Literals(["user", "key"]),
  daily: Schema.NullOr(Schema.Int),
  monthly: Schema.NullOr(Schema.Int),
  granted: Schema.Int
})
export type Asked = typeof Asked.Type

const CountedOf = Schema.Struct({ ...Counted.fields, ownerId: Schema.String })

/** The first days of the windows that a time is in, UTC. */
export const windowsOf = (now: DateTime.Utc) => {
  const day = DateTime.formatIsoDateUtc(now)
  return { day, month: `${day.slice(0, "2000-01".length)}-01` }
}

/** When a reservation that is made or renewed now expires, by the clock of the database. */
export const expiry = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql`clock_timestamp() + make_interval(secs => ${reservationSeconds})`

/**
 * The end of a statement whose `changed` has, by user, key (or null), day and month, the tokens that were
 * used and that are no longer reserved. Only the newest window of each owner counts. Rows are locked in one
 * order, so two such statements never deadlock.
 */
const applyTo = (sql: SqlClient.SqlClient): Statement.Fragment => sql`
  events AS (
    SELECT owner_id, day, month, used, reserved
    FROM changed, LATERAL (VALUES (user_id), (key_id)) AS owners (owner_id) WHERE owner_id IS NOT NULL
  ), newest AS (
    SELECT *, max(day) OVER (PARTITION BY owner_id) AS newest_day,
      max(month) OVER (PARTITION BY owner_id) AS newest_month
    FROM events
  ), changes AS MATERIALIZED (
    SELECT owner_id, newest_day AS day, newest_month AS month,
      coalesce(sum(used) FILTER (WHERE day = newest_day), 0) AS day_used,
      coalesce(sum(reserved) FILTER (WHERE day = newest_day), 0) AS day_reserved,
      coalesce(sum(used) FILTER (WHERE month = newest_month), 0) AS month_used,
      coalesce(sum(reserved) FILTER (WHERE month = newest_month), 0) AS month_reserved
    FROM newest GROUP BY owner_id, newest_day, newest_month
  ), locked AS MATERIALIZED (
    SELECT owner_id FROM token_counters WHERE owner_id IN (SELECT owner_id FROM changes)
    ORDER BY owner_id FOR UPDATE
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
  FROM changes JOIN locked ON locked.owner_id = changes.owner_id
  WHERE c.owner_id = changes.owner_id`

/**
 * One row per user, and per key that has token limits, with the tokens of its windows. Each change, also with
 * the reservations, is one statement that relies on the locks of these rows alone: PostgreSQL reads a row
 * again after it waited for it, but not other rows. Windows are those of the times that are passed in. They
 * never go back, and are at most a day ahead of the database's clock, so that a process with a wrong clock
 * can't close the windows of a year.
 */
export const makeTokenCounters = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql`day::text, day_used::float8, day_reserved::float8,
    month::text, month_used::float8, month_reserved::float8`

  const today = (day: string) => sql`least(${day}::date, clock_timestamp()::date + 1)`

  /** The user, and the key if it has limits: those that it has now. */
  const owners = ({ limitedKey, userId }: TokenRequest, { daily, monthly }: TokenLimits) => {
    const user = sql`
      SELECT 'user' AS owner, ${userId}::uuid AS owner_id, ${daily}::bigint AS daily, ${monthly}::bigint AS monthly`
    return limitedKey === null
      ? user
      : sql`${user} UNION ALL SELECT 'key', id, daily_tokens, monthly_tokens FROM api_keys WHERE id = ${limitedKey}::uuid`
  }

  /** Returns no rows, and reserves nothing, unless all owners have counters. */
  const count = (ask: TokenRequest, limits: TokenLimits, day: string) =>
    sql`
      WITH asked AS MATERIALIZED (${owners(ask, limits)}), locked AS MATERIALIZED (
        SELECT c.*, asked.owner, asked.daily, asked.monthly
        FROM token_counters AS c JOIN asked ON asked.owner_id = c.owner_id
        ORDER BY c.owner_id FOR UPDATE OF c
      ), newest AS (
        SELECT greatest(now.day, max(locked.day)) AS day,
          greatest(date_trunc('month', now.day)::date, max(locked.month)) AS month
        FROM (SELECT ${today(day)} AS day) AS now, locked GROUP BY now.day
      ), windows AS MATERIALIZED (
        SELECT owner_id, owner, daily, monthly, newest.day, newest.month,
          CASE WHEN locked.day < newest.day THEN 0 ELSE day_used END AS day_used,
          CASE WHEN locked.day < newest.day THEN 0 ELSE day_reserved END AS day_reserved,
          CASE WHEN locked.month < newest.month THEN 0 ELSE month_used END AS month_used,
          CASE WHEN locked.month < newest.month THEN 0 ELSE month_reserved END AS month_reserved
        FROM locked, newest
        WHERE (SELECT count(*) FROM locked) = (SELECT count(*) FROM asked)
      ), grants AS MATERIALIZED (
        SELECT CASE WHEN remaining.tokens <= 0 THEN 0 ELSE least(
          ${ask.most}::bigint,
          greatest(${ask.least}::bigint, least(remaining.tokens, ${ask.usual}::bigint))
        ) END AS tokens
        FROM (SELECT min(least(daily - day_used - day_reserved, monthly - month_used - month_reserved)) AS tokens
          FROM windows) AS remaining
      ), counted AS (
        UPDATE token_counters AS c SET
          day = w.day, day_used = w.day_used, day_reserved = w.day_reserved + grants.tokens,
          month = w.month, month_used = w.month_used, month_reserved = w.month_reserved + grants.tokens
        FROM windows AS w, grants WHERE c.owner_id = w.owner_id
        RETURNING c.*, w.owner, w.daily, w.monthly, grants.tokens AS granted
      ), held AS (
        INSERT INTO token_reservations (response_id, part, user_id, key_id, day, month, tokens, expires_at)
        SELECT ${ask.responseId}::uuid, ${ask.part}, ${ask.userId}::uuid, ${ask.limitedKey}::uuid, newest.day,
          newest.month, grants.tokens, ${expiry(sql)}
        FROM newest, grants WHERE grants.tokens > 0 AND EXISTS (SELECT FROM windows)
      )
      SELECT ${columns}, owner, daily::float8, monthly::float8, granted::float8 FROM counted`.pipe(
      rowsAs(Asked)
    )

  /**
   * Starts with the sums of the records, for an owner who had no limit so far. A record that is being written
   * meanwhile would neither be seen here nor find the new row; the lock waits for it, and lets later ones see
   * the row.
   */
  const create = ({ limitedKey, userId }: TokenRequest, day: string) =>
    Effect.andThen(
      sql`LOCK TABLE token_counters IN SHARE ROW EXCLUSIVE MODE`,
      sql`
        INSERT INTO token_counters (owner_id, day, day_used, month, month_used)
        SELECT owners.id, now.day, coalesce(spent.day, 0), now.month, coalesce(spent.month, 0)
        FROM unnest(${limitedKey === null ? [userId] : [userId, limitedKey]}::uuid[]) AS owners (id),
          (SELECT day, date_trunc('month', day)::date AS month FROM (SELECT ${today(day)} AS day) AS asked) AS now,
          LATERAL (SELECT sum(input_tokens::bigint + output_tokens) AS month,
              sum(input_tokens::bigint + output_tokens) FILTER (WHERE created_at >= now.day) AS day
            FROM usage_records
            WHERE user_id = ${userId}::uuid AND owners.id IN (user_id, key_id) AND created_at >= now.month) AS spent
        WHERE NOT EXISTS (SELECT 1 FROM token_counters WHERE owner_id = owners.id)`
    ).pipe(sql.withTransaction)

  /**
   * Reserves the granted tokens, which are 0 if nothing is left, in the windows of the user, and of the key
   * if it has limits.
   */
  const reserve = Effect.fnUntraced(function* (ask: TokenRequest, limits: TokenLimits, now: DateTime.Utc) {
    const { day } = windowsOf(now)
    const counted = yield* count(ask, limits, day)
    if (Arr.isReadonlyArrayNonEmpty(counted)) return counted
    yield* create(ask, day)
    const again = yield* count(ask, limits, day)
    return Arr.isReadonlyArrayNonEmpty(again)
      ? again
      : yield* Effect.die(new Error("A user or a key has no token counters."))
  })

  const read = (owner: OwnerId) =>
    sql`SELECT ${columns} FROM token_counters WHERE owner_id = ${owner}::uuid`.pipe(rowAs(Counted))

  const readAll = (owners: ReadonlyArray<OwnerId>) =>
    sql`SELECT owner_id, ${columns} FROM token_counters WHERE owner_id = ANY (${owners}::uuid[])`.pipe(
      rowsAs(CountedOf)
    )

  return { reserve, read, readAll, apply: applyTo(sql) }
})
