import { Array as Arr, Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { Caller } from "../domain/CurrentUser.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { type ResponseId, UserId } from "../domain/Ids.ts"
import type { ModelUsage } from "../domain/ModelCall.ts"
import { makeBatcher } from "../sql/Batcher.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** What became of a response. */
export type Outcome = "completed" | "failed" | "abandoned"

/** What one response cost, and whom. */
export interface Spending {
  readonly responseId: ResponseId
  readonly caller: Caller
  readonly model: string
  readonly usage: ModelUsage
  readonly outcome: Outcome
}

interface Spent extends Spending {
  readonly at: DateTime.Utc
}

/** Records written by one statement. */
const recordsPerStatementMax = 1000

/** Tokens of one window, read and written apart. */
export interface TokensSpent {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** What a user spent since midnight UTC, and since the first of the month UTC. */
export interface UserUsage {
  readonly today: TokensSpent
  readonly month: TokensSpent
}

/** The largest count that the database takes. A provider that claims more than this is not believed. */
const tokensMax = 2 ** 31 - 1

const stored = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(Math.max(Math.ceil(tokens), 0), tokensMax) : 0

const Sums = Schema.Struct({
  todayInput: Schema.Int,
  todayOutput: Schema.Int,
  monthInput: Schema.Int,
  monthOutput: Schema.Int
})

/** Keeps account of the tokens that were spent. */
export class Usage extends Context.Service<
  Usage,
  {
    /** Writes down what a response cost. A second record for the same response changes nothing. */
    readonly record: (spending: Spending) => Effect.Effect<void, DatabaseUnavailable>
    readonly ofUser: (userId: UserId) => Effect.Effect<UserUsage, DatabaseUnavailable>
  }
>()("parley/usage/Usage") {
  static readonly layer = Layer.effect(
    Usage,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const write = (spent: Arr.NonEmptyReadonlyArray<Spent>) => {
        const column = <A>(of: (one: Spent) => A) => spent.map(of)
        return sql`
          INSERT INTO usage_records
            (response_id, user_id, organization_id, key_id, model, input_tokens, output_tokens, source, outcome, created_at)
          SELECT * FROM unnest(
            ${column((one) => one.responseId)}::uuid[], ${column((one) => one.caller.userId)}::uuid[],
            ${column((one) => one.caller.organizationId)}::uuid[], ${column((one) => one.caller.keyId)}::uuid[],
            ${column((one) => one.model)}::text[],
            ${column((one) => stored(one.usage.inputTokens))}::int[],
            ${column((one) => stored(one.usage.outputTokens))}::int[],
            ${column((one) => one.usage.source)}::text[], ${column((one) => one.outcome)}::text[],
            ${column((one) => DateTime.formatIso(one.at))}::timestamptz[]
          )
          ON CONFLICT (response_id) DO NOTHING`.pipe(Effect.asVoid, orUnavailable)
      }
      const add = yield* makeBatcher(write, recordsPerStatementMax)

      const record = (spending: Spending) => Effect.flatMap(DateTime.now, (at) => add({ ...spending, at }))

      // A sum of integers is a bigint; up to 2^53 tokens a float holds it exactly.
      const sums = SqlSchema.findOne({
        Request: Schema.Struct({
          userId: UserId,
          day: Schema.DateTimeUtcFromDate,
          month: Schema.DateTimeUtcFromDate
        }),
        Result: Sums,
        execute: ({ userId, day, month }) => sql`
          SELECT
            coalesce(sum(input_tokens) FILTER (WHERE created_at >= ${day}), 0)::float8 AS today_input,
            coalesce(sum(output_tokens) FILTER (WHERE created_at >= ${day}), 0)::float8 AS today_output,
            coalesce(sum(input_tokens), 0)::float8 AS month_input,
            coalesce(sum(output_tokens), 0)::float8 AS month_output
          FROM usage_records
          WHERE user_id = ${userId} AND created_at >= ${month}`
      })

      const ofUser = Effect.fn("Usage.ofUser")(function* (userId: UserId) {
        const now = yield* DateTime.now
        const row = yield* sums({
          userId,
          day: DateTime.startOf(now, "day"),
          month: DateTime.startOf(now, "month")
        }).pipe(Effect.catchTag("NoSuchElementError", Effect.die))
        return {
          today: { inputTokens: row.todayInput, outputTokens: row.todayOutput },
          month: { inputTokens: row.monthInput, outputTokens: row.monthOutput }
        }
      }, orUnavailable)

      return Usage.of({ record, ofUser })
    })
  )
}
