import { DateTime, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { UsageBy } from "../domain/Allowance.ts"
import type { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** Days that a report covers, today included. */
export const reportDays = 30
/** Lines of a report; the rest is left out. */
const linesMax = 1_000

/** Whose usage to report, and split by what. All ids null: everybody's. */
export interface ReportRequest {
  readonly userId: UserId | null
  readonly organizationId: OrganizationId | null
  readonly keyId: ApiKeyId | null
  readonly by: UsageBy
}

const Line = Schema.Struct({
  /** The day, the name of the model, or the id of the key. */
  label: Schema.String,
  requests: Schema.Int,
  completed: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  toolCalls: Schema.Int,
  /** Of the requests whose time is known; null where there is none. */
  latencyMillis: Schema.NullOr(Schema.Finite)
})
export type ReportLine = typeof Line.Type

/** Sums over what was recorded in the last `reportDays`. */
export const makeUsageReport = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const labels = {
    day: sql`to_char(created_at, 'YYYY-MM-DD')`,
    model: sql`model`,
    key: sql`key_id::text`
  }

  const select = SqlSchema.findAll({
    Request: Schema.Struct({
      userId: Schema.NullOr(Schema.String),
      organizationId: Schema.NullOr(Schema.String),
      keyId: Schema.NullOr(Schema.String),
      by: Schema.Literals(["day", "model", "key"]),
      since: Schema.String
    }),
    Result: Line,
    execute: ({ by, keyId, organizationId, since, userId }) => sql`
      SELECT ${labels[by]} AS label, count(*)::float8 AS requests,
        count(*) FILTER (WHERE outcome = 'completed')::float8 AS completed,
        sum(input_tokens)::float8 AS input_tokens, sum(output_tokens)::float8 AS output_tokens,
        sum(tool_calls)::float8 AS tool_calls, round(avg(latency_millis))::float8 AS latency_millis
      FROM usage_records
      WHERE created_at >= ${since}::timestamptz
        AND (${userId}::uuid IS NULL OR user_id = ${userId}::uuid)
        AND (${organizationId}::uuid IS NULL OR organization_id = ${organizationId}::uuid)
        AND (${keyId}::uuid IS NULL OR key_id = ${keyId}::uuid)
      GROUP BY 1
      ORDER BY ${by === "day" ? sql`1 DESC` : sql`sum(input_tokens::bigint + output_tokens) DESC, 1`}
      LIMIT ${linesMax}`
  })

  return Effect.fn("Usage.report")(function* (request: ReportRequest) {
    const today = DateTime.startOf(yield* DateTime.now, "day")
    const since = DateTime.subtract(today, { days: reportDays - 1 })
    return yield* select({ ...request, since: DateTime.formatIso(since) })
  }, orUnavailable)
})
