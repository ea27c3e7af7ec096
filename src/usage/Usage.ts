import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ApiKeyRecord, Page } from "../domain/Account.ts"
import type { AllowanceState, KeyAllowance, LimitChange, Span, TokenLimits } from "../domain/Allowance.ts"
import { type DatabaseUnavailable, UsageLimitExceeded } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { hasTokenLimit } from "../domain/KeyLimits.ts"
import { inRealTime } from "../runtime/Monotonic.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeBatcher } from "../sql/Batcher.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { traced } from "../telemetry/traced.ts"
import { makeAdmission } from "./Admission.ts"
import { allowanceState, exceeded, keyAllowance, leftOf, notCounted } from "./AllowanceWindows.ts"
import { makeLimitTable } from "./LimitTable.ts"
import { makeReservations, renewSeconds } from "./Reservations.ts"
import { type Spending, writeRecords } from "./Spending.ts"
import { type Asked, type Grant, makeTokenCounters, type TokenRequest, windowsOf } from "./TokenCounters.ts"
import { type AfterRecord, makeUsageErasure, makeUsageRecords, type UsageRecord } from "./UsageErasure.ts"
import { makeUsageReport, type Report, type ReportRequest } from "./UsageReport.ts"

export type { Outcome, Spending } from "./Spending.ts"

/** Records written by one statement. */
const recordsPerStatementMax = 1000

/** The tokens of one window. */
interface TokensSpent {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Tokens since midnight UTC, and since the first of the month UTC. */
interface UserUsage {
  readonly today: TokensSpent
  readonly month: TokensSpent
}

const unlimited: Grant = { tokens: Number.POSITIVE_INFINITY, left: Number.POSITIVE_INFINITY }

const total = ({ inputTokens, outputTokens }: TokensSpent): number => inputTokens + outputTokens

const hasReserved = ({ dayReserved, monthReserved }: Asked): boolean => dayReserved + monthReserved > 0

const Sums = Schema.Tuple([
  Schema.Struct({
    todayInput: Schema.Int,
    todayOutput: Schema.Int,
    monthInput: Schema.Int,
    monthOutput: Schema.Int
  })
])

type LimitedKey = Pick<ApiKeyRecord, "id" | "userId" | "limits">

/** Returns the allowance of each of the keys that were read. */
type KeyAllowances = (key: LimitedKey) => KeyAllowance

const KeySpending = Schema.Struct({ keyId: Schema.String, day: Schema.Int, month: Schema.Int })

/** Token limits, reservations and records. */
export class Usage extends Context.Service<
  Usage,
  {
    /** Starts to read a user's limits, so that `reserve` need not wait for them. */
    readonly prepare: (userId: UserId) => Effect.Effect<void>
    /**
     * Reserves tokens until `record`: no more than are left in both windows, of the user and of a key with
     * limits of its own, but at least `least` while any are left, also when requests run at once. Infinite
     * without a limit. After a crash, reservations expire within a minute.
     */
    readonly reserve: (ask: TokenRequest) => Effect.Effect<Grant, UsageLimitExceeded | DatabaseUnavailable>
    /**
     * Reserves tokens before a request begins. If running requests have reserved the rest, the request waits
     * in the queue of its user, or of its key if that has limits. It fails after `PARLEY_TOKEN_WAIT_SECONDS`.
     */
    readonly admit: (ask: TokenRequest) => Effect.Effect<Grant, UsageLimitExceeded | DatabaseUnavailable>
    /** The user's limits, and the tokens spent of them. */
    readonly allowanceOf: (userId: UserId) => Effect.Effect<AllowanceState, DatabaseUnavailable>
    /**
     * The limits of these keys, and the tokens spent of them. Keys without token limits cost no statement.
     */
    readonly keyAllowances: (
      keys: ReadonlyArray<LimitedKey>
    ) => Effect.Effect<KeyAllowances, DatabaseUnavailable>
    /** Takes effect at once here, and within seconds in other processes. */
    readonly setLimits: (
      userId: UserId,
      changes: Readonly<Partial<Record<Span, LimitChange>>>
    ) => Effect.Effect<void, DatabaseUnavailable>
    /** Reports spending, the most recent or the largest first. */
    readonly report: (request: ReportRequest) => Effect.Effect<Report, DatabaseUnavailable>
    /**
     * Records what a response spent, and releases its reservations. A second record of the same response
     * changes nothing.
     */
    readonly record: (spending: Spending) => Effect.Effect<void, DatabaseUnavailable>
    /** The records of a user, oldest first, beginning after `after`. */
    readonly recordsOf: (
      userId: UserId,
      after?: AfterRecord
    ) => Effect.Effect<Page<UsageRecord>, DatabaseUnavailable>
    /**
     * Removes the link between some records and their user, and returns how many; the counters of the user go
     * with the last.
     */
    readonly eraseSome: (userId: UserId) => Effect.Effect<number, DatabaseUnavailable>
    readonly ofUser: (userId: UserId) => Effect.Effect<UserUsage, DatabaseUnavailable>
  }
>()("parley/usage/Usage") {
  static readonly layer = Layer.effect(
    Usage,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* AppConfig

      const limitTable = yield* makeLimitTable
      const counters = yield* makeTokenCounters
      const reservations = yield* makeReservations
      // Nothing may end this: without it, reservations would expire while their requests run.
      yield* Effect.gen(function* () {
        while (true) {
          yield* Effect.sleep(`${renewSeconds} seconds`)
          yield* reservations.renewAll.pipe(
            orUnavailable,
            Effect.catchTag("DatabaseUnavailable", () => Effect.void),
            Effect.catchCause((cause) => Effect.logError("Token reservations could not be renewed.", cause))
          )
        }
      }).pipe(inRealTime, Effect.forkScoped)

      const reserveWithin = traced("Usage.reserve")(
        Effect.fnUntraced(
          function* (ask: TokenRequest, limits: TokenLimits) {
            const now = yield* DateTime.now
            let asked = yield* counters.reserve(ask, limits, now)
            // Some reservations may be those of a process that crashed.
            if (asked[0].granted === 0 && asked.some(hasReserved)) {
              yield* reservations.expire(ask.userId)
              asked = yield* counters.reserve(ask, limits, now)
            }
            const { day, granted, month } = asked[0]
            const refusal = granted === 0 ? exceeded(asked, now) : null
            if (refusal !== null) return yield* refusal
            const { limitedKey, part, responseId, userId } = ask
            reservations.add({ responseId, part, userId, limitedKey, day, month, tokens: granted })
            return { tokens: granted, left: Math.min(...asked.map(leftOf)) } satisfies Grant
          },
          orUnavailable,
          (effect, { part, responseId }) =>
            // Earlier reservations of the response are released when it is recorded, and this one with them.
            Effect.tapErrorTag(effect, "DatabaseUnavailable", () =>
              Effect.sync(() => (part === 0 ? reservations.markUncertain(responseId) : undefined))
            )
        )
      )

      const reserve = (ask: TokenRequest) =>
        Effect.flatMap(limitTable.of(ask.userId), (limits) =>
          limits.daily === null && limits.monthly === null && ask.limitedKey === null
            ? Effect.succeed(unlimited)
            : reserveWithin(ask, limits)
        )

      const { add } = yield* makeBatcher(writeRecords(sql, counters.apply), recordsPerStatementMax)

      const record = (spending: Spending) =>
        Effect.flatMap(DateTime.now, (at) => {
          // The reservations expire if the record fails for good.
          reservations.forget(spending.responseId)
          return add({ ...spending, at })
        })

      const ofUser = Effect.fn("Usage.ofUser")(function* (userId: UserId) {
        const now = yield* DateTime.now
        const [day, month] = [DateTime.startOf(now, "day"), DateTime.startOf(now, "month")].map(
          DateTime.toDateUtc
        )
        // A sum of integers is a bigint; up to 2^53 tokens a float holds it exactly.
        const [row] = yield* sql`
          SELECT
            coalesce(sum(input_tokens) FILTER (WHERE created_at >= ${day}), 0)::float8 AS today_input,
            coalesce(sum(output_tokens) FILTER (WHERE created_at >= ${day}), 0)::float8 AS today_output,
            coalesce(sum(input_tokens), 0)::float8 AS month_input,
            coalesce(sum(output_tokens), 0)::float8 AS month_output
          FROM usage_records
          WHERE user_id = ${userId} AND created_at >= ${month}`.pipe(
          Effect.flatMap(Schema.decodeUnknownEffect(Sums))
        )
        return {
          today: { inputTokens: row.todayInput, outputTokens: row.todayOutput },
          month: { inputTokens: row.monthInput, outputTokens: row.monthOutput }
        }
      }, orUnavailable)

      const allowanceOf = Effect.fn("Usage.allowanceOf")(function* (userId: UserId) {
        const limits = yield* limitTable.read(userId)
        const now = yield* DateTime.now
        const counted = yield* counters.read(userId)
        if (counted !== undefined) return allowanceState(limits, counted, now)
        const { month, today } = yield* ofUser(userId)
        return allowanceState(limits, notCounted(now, total(today), total(month)), now)
      }, orUnavailable)

      return Usage.of({
        prepare: (userId) => Effect.asVoid(limitTable.prepare(userId)),
        reserve,
        admit: makeAdmission(reserve, settings.usage.waitSeconds),
        record,
        recordsOf: yield* makeUsageRecords,
        eraseSome: yield* makeUsageErasure,
        ofUser,
        allowanceOf,
        keyAllowances: yield* makeKeyAllowances,
        setLimits: limitTable.set,
        report: yield* makeUsageReport
      })
    })
  )
}

/** Reads the counters of keys; the records stand in for keys that have no counters yet. */
const makeKeyAllowances = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const counters = yield* makeTokenCounters

  const spentBy = (keys: ReadonlyArray<LimitedKey>, now: DateTime.Utc) => {
    const { day, month } = windowsOf(now)
    return sql`
      SELECT key_id, sum(input_tokens::bigint + output_tokens)::float8 AS month,
        coalesce(sum(input_tokens::bigint + output_tokens) FILTER (WHERE created_at >= ${day}::date), 0)::float8 AS day
      FROM usage_records
      WHERE user_id = ANY (${keys.map(({ userId }) => userId)}::uuid[])
        AND key_id = ANY (${keys.map(({ id }) => id)}::uuid[]) AND created_at >= ${month}::date
      GROUP BY key_id`.pipe(rowsAs(KeySpending))
  }

  return Effect.fn("Usage.keyAllowances")(function* (keys: ReadonlyArray<LimitedKey>) {
    const now = yield* DateTime.now
    const limited = keys.filter(({ limits }) => hasTokenLimit(limits))
    const counted = limited.length === 0 ? [] : yield* counters.readAll(limited.map(({ id }) => id))
    const known = new Map(counted.map(({ ownerId, ...windows }) => [ownerId, windows]))
    const others = limited.filter(({ id }) => !known.has(id))
    const spent = others.length === 0 ? [] : yield* spentBy(others, now)
    for (const { day, keyId, month } of spent) known.set(keyId, notCounted(now, day, month))
    return (({ id, limits }) =>
      keyAllowance(limits, known.get(id) ?? notCounted(now, 0, 0), now)) satisfies KeyAllowances
  }, orUnavailable)
})
