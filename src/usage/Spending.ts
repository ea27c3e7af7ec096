import { type Array as Arr, DateTime, Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { Caller } from "../domain/Account.ts"
import type { ResponseId } from "../domain/Ids.ts"
import type { ModelUsage } from "../domain/ModelCall.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { prepared } from "../sql/prepared.ts"

export type Outcome = "completed" | "failed" | "abandoned"

export interface Spending {
  readonly responseId: ResponseId
  readonly caller: Caller
  readonly model: string
  readonly usage: ModelUsage
  readonly toolCalls: number
  readonly latencyMillis: number
  readonly outcome: Outcome
}

/** The spending and its time. */
interface Spent extends Spending {
  readonly at: DateTime.Utc
}

/** The largest count that the database can store. */
const tokensMax = 2 ** 31 - 1

const stored = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(Math.max(Math.ceil(tokens), 0), tokensMax) : 0

/** The stored count of a part, which is no more than the rest of the whole. */
const storedPart = (tokens: number, whole: number): number => Math.min(stored(tokens), whole)

const storedUsage = (usage: ModelUsage) => {
  const [input, output] = [stored(usage.inputTokens), stored(usage.outputTokens)]
  const cached = storedPart(usage.cachedInputTokens, input)
  return {
    input,
    cached,
    written: storedPart(usage.cacheWriteInputTokens, input - cached),
    output,
    reasoning: storedPart(usage.reasoningTokens, output)
  }
}

/** The values for the columns of `usage_records`. */
const columnsOf = (spent: Arr.NonEmptyReadonlyArray<Spent>) => {
  const column = <A>(of: (one: Spent) => A) => spent.map(of)
  const tokens = spent.map(({ usage }) => storedUsage(usage))
  return {
    responseId: column((one) => one.responseId),
    userId: column(({ caller }) => caller.userId),
    organizationId: column(({ caller }) => caller.organizationId),
    keyId: column(({ caller }) => caller.keyId),
    model: column((one) => one.model),
    inputTokens: tokens.map(({ input }) => input),
    cachedTokens: tokens.map(({ cached }) => cached),
    writtenTokens: tokens.map(({ written }) => written),
    outputTokens: tokens.map(({ output }) => output),
    reasoningTokens: tokens.map(({ reasoning }) => reasoning),
    source: column(({ usage }) => usage.source),
    toolCalls: column((one) => stored(one.toolCalls)),
    latencyMillis: column((one) => stored(one.latencyMillis)),
    outcome: column((one) => one.outcome),
    createdAt: column((one) => DateTime.formatIso(one.at))
  }
}

/**
 * One statement records what was spent and releases the reservations; `countEvents` ends it and updates the
 * counters.
 */
export const writeRecords = (sql: SqlClient.SqlClient, countEvents: Statement.Fragment) => {
  const write = prepared<ReturnType<typeof columnsOf>>(
    sql,
    (column) => sql`
      WITH recorded AS (
        INSERT INTO usage_records (response_id, user_id, organization_id, key_id, model, input_tokens,
          cached_input_tokens, cache_write_input_tokens, output_tokens, reasoning_tokens, source, tool_calls,
          latency_millis, outcome, created_at)
        SELECT response_id, user_id, organization_id, key_id, model, input_tokens, cached_input_tokens,
          cache_write_input_tokens, output_tokens, reasoning_tokens, source, tool_calls, latency_millis, outcome,
          least(created_at, clock_timestamp() + interval '1 day')
        FROM unnest(
          ${column("responseId")}::uuid[], ${column("userId")}::uuid[], ${column("organizationId")}::uuid[],
          ${column("keyId")}::uuid[], ${column("model")}::text[], ${column("inputTokens")}::int[],
          ${column("cachedTokens")}::int[], ${column("writtenTokens")}::int[], ${column("outputTokens")}::int[],
          ${column("reasoningTokens")}::int[], ${column("source")}::text[], ${column("toolCalls")}::int[],
          ${column("latencyMillis")}::int[], ${column("outcome")}::text[], ${column("createdAt")}::timestamptz[]
        ) AS spent (response_id, user_id, organization_id, key_id, model, input_tokens, cached_input_tokens,
          cache_write_input_tokens, output_tokens, reasoning_tokens, source, tool_calls, latency_millis, outcome,
          created_at)
        ON CONFLICT (response_id) DO NOTHING
        RETURNING response_id, user_id, key_id, created_at, input_tokens::bigint + output_tokens AS tokens
      ), released AS (
        DELETE FROM token_reservations WHERE response_id = ANY (${column("responseId")}::uuid[])
        RETURNING response_id, user_id, key_id, day, month, tokens
      ), changed AS (
        -- A request counts for the windows in which it began.
        SELECT user_id, key_id, coalesce(began.day, created_at::date) AS day,
          coalesce(began.month, date_trunc('month', created_at)::date) AS month, tokens AS used, 0 AS reserved
        FROM recorded LEFT JOIN (
          SELECT response_id, min(day) AS day, min(month) AS month FROM released GROUP BY response_id
        ) AS began USING (response_id)
        UNION ALL
        SELECT user_id, key_id, day, month, 0, tokens FROM released
      ), ${countEvents}`
  )
  return (spent: Arr.NonEmptyReadonlyArray<Spent>) =>
    write(columnsOf(spent)).pipe(Effect.asVoid, orUnavailable)
}
