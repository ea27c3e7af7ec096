import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ReportBy, UsageSums } from "../domain/Allowance.ts"
import type { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import type { ModelPrice } from "../domain/Model.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"

/** The rest is left out, but counts in the total. */
const linesMax = 1_000

/** All ids null: the usage of all users. */
export interface ReportRequest {
  readonly userId: UserId | null
  readonly organizationId: OrganizationId | null
  readonly keyId: ApiKeyId | null
  readonly by: ReportBy
  /** The first day and the last one, UTC, such as 2026-02-28. */
  readonly since: string
  readonly until: string
  /** Prices of a million tokens by model; requests of other models have no cost. */
  readonly prices: ReadonlyArray<ModelPriceOf>
}

/** The price of a model by its id. */
export interface ModelPriceOf extends Required<ModelPrice> {
  readonly model: string
}

const Row = Schema.Struct({
  label: Schema.NullOr(Schema.String),
  ...UsageSums.fields,
  keyName: Schema.NullOr(Schema.String),
  keyHint: Schema.NullOr(Schema.String),
  keyOwner: Schema.NullOr(Schema.String)
})

interface ReportLine extends UsageSums {
  /**
   * The day, the name of the model or of the organization, the e-mail address of the user, or the id of the
   * key.
   */
  readonly label: string
  /**
   * The owner's name of the key, its last characters, and the owner's e-mail address; null unless split by
   * key.
   */
  readonly key: { readonly name: string; readonly hint: string; readonly owner: string } | null
}

export interface Report {
  readonly lines: ReadonlyArray<ReportLine>
  /** With the lines that were left out. */
  readonly total: UsageSums
}

const nothing: UsageSums = {
  requests: 0,
  completed: 0,
  tokenizerCounted: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  toolCalls: 0,
  latencyMillis: null,
  cost: null
}

const lineOf = ({ keyHint, keyName, keyOwner, label, ...sums }: typeof Row.Type): ReportLine => ({
  ...sums,
  label: label ?? "",
  key:
    keyName === null || keyHint === null || keyOwner === null
      ? null
      : { name: keyName, hint: keyHint, owner: keyOwner }
})

export const makeUsageReport = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const byTokens = sql`input_tokens + output_tokens DESC, label`
  const kinds = {
    day: { label: sql`to_char(created_at, 'YYYY-MM-DD')`, order: sql`label DESC` },
    model: { label: sql`model`, order: byTokens },
    // The records of a deleted user name no key.
    key: { label: sql`coalesce(key_id::text, 'deleted')`, order: byTokens },
    user: { label: sql`coalesce(user_id::text, 'deleted')`, order: byTokens },
    org: { label: sql`coalesce(organization_id::text, 'deleted')`, order: byTokens }
  }

  return Effect.fn("Usage.report")(function* (request: ReportRequest) {
    const { by, keyId, organizationId, prices, since, until, userId } = request
    // The sums of all come first, and so are never left out.
    const [total = nothing, ...lines] = yield* sql`
      WITH labelled AS (
        SELECT ${kinds[by].label} AS label, outcome, source, input_tokens, cached_input_tokens, cache_write_input_tokens,
          output_tokens, reasoning_tokens, tool_calls, latency_millis,
          ((input_tokens - cached_input_tokens - cache_write_input_tokens) * prices.input
            + cached_input_tokens * prices."cachedInput" + cache_write_input_tokens * prices."cacheWrite"
            + (output_tokens - reasoning_tokens) * prices.output + reasoning_tokens * prices.reasoning
          ) / 1000000 AS cost
        FROM usage_records
        LEFT JOIN jsonb_to_recordset(${JSON.stringify(prices)}::jsonb) AS prices (model text, input float8,
          "cachedInput" float8, "cacheWrite" float8, output float8, reasoning float8)
          USING (model)
        WHERE created_at >= ${since}::date AND created_at < ${until}::date + 1
          AND (${userId}::uuid IS NULL OR user_id = ${userId}::uuid)
          AND (${organizationId}::uuid IS NULL OR organization_id = ${organizationId}::uuid)
          AND (${keyId}::uuid IS NULL OR key_id = ${keyId}::uuid)
      ), summed AS (
        SELECT grouping(label) = 1 AS is_total, label, count(*)::float8 AS requests,
          count(*) FILTER (WHERE outcome = 'completed')::float8 AS completed,
          count(*) FILTER (WHERE source = 'tokenizer')::float8 AS tokenizer_counted,
          coalesce(sum(input_tokens), 0)::float8 AS input_tokens,
          coalesce(sum(cached_input_tokens), 0)::float8 AS cached_input_tokens,
          coalesce(sum(cache_write_input_tokens), 0)::float8 AS cache_write_input_tokens,
          coalesce(sum(output_tokens), 0)::float8 AS output_tokens,
          coalesce(sum(reasoning_tokens), 0)::float8 AS reasoning_tokens,
          coalesce(sum(tool_calls), 0)::float8 AS tool_calls, round(avg(latency_millis))::float8 AS latency_millis,
          sum(cost)::float8 AS cost
        FROM labelled GROUP BY GROUPING SETS ((label), ())
      )
      SELECT coalesce(people.email, organizations.name, summed.label) AS label, requests, completed, tokenizer_counted,
        input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens, reasoning_tokens, tool_calls,
        latency_millis, cost, api_keys.name AS key_name, api_keys.hint AS key_hint, users.email AS key_owner
      FROM summed
      LEFT JOIN users people ON ${by === "user"} AND people.id::text = summed.label
      LEFT JOIN organizations ON ${by === "org"} AND organizations.id::text = summed.label
      LEFT JOIN api_keys ON ${by === "key"} AND api_keys.id::text = summed.label
      LEFT JOIN users ON users.id = api_keys.user_id
      ORDER BY is_total DESC, ${kinds[by].order} LIMIT ${linesMax + 1}`.pipe(rowsAs(Row))
    return { lines: lines.map(lineOf), total } satisfies Report
  }, orUnavailable)
})
