import { Effect, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { UsageBy } from "../domain/Allowance.ts"
import type { ApiKeyId, OrganizationId, UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** The rest is left out, but counts in the total. */
const linesMax = 1_000

/** All ids null: the usage of all users. */
export interface ReportRequest {
  readonly userId: UserId | null
  readonly organizationId: OrganizationId | null
  readonly keyId: ApiKeyId | null
  readonly by: UsageBy
  /** The first day and the last one, UTC, such as 2026-02-28. */
  readonly since: string
  readonly until: string
}

const sums = {
  requests: Schema.Int,
  completed: Schema.Int,
  /** Requests whose tokens were counted by the tokenizer instead of the provider. */
  tokenizerCounted: Schema.Int,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int,
  toolCalls: Schema.Int,
  /** Of the requests whose time is known; null where there is none. */
  latencyMillis: Schema.NullOr(Schema.Finite)
}
const Row = Schema.Struct({
  isTotal: Schema.Boolean,
  label: Schema.NullOr(Schema.String),
  ...sums,
  keyName: Schema.NullOr(Schema.String),
  keyHint: Schema.NullOr(Schema.String),
  keyOwner: Schema.NullOr(Schema.String)
})

type Sums = Omit<typeof Row.Type, "isTotal" | "label" | "keyName" | "keyHint" | "keyOwner">

export interface ReportLine extends Sums {
  /** The day, the name of the model, or the id of the key. */
  readonly label: string
  /** What the owner calls the key, its last characters, and the owner's e-mail address; null unless split by key. */
  readonly key: { readonly name: string; readonly hint: string; readonly owner: string } | null
}

export interface Report {
  readonly lines: ReadonlyArray<ReportLine>
  /** With the lines that were left out. */
  readonly total: Sums
}

const nothing: Sums = {
  requests: 0,
  completed: 0,
  tokenizerCounted: 0,
  inputTokens: 0,
  outputTokens: 0,
  toolCalls: 0,
  latencyMillis: null
}

const lineOf = (row: typeof Row.Type): ReportLine => {
  const { keyHint, keyName, keyOwner, label } = row
  return {
    ...Struct.omit(row, ["isTotal", "keyHint", "keyName", "keyOwner"]),
    label: label ?? "",
    key:
      keyName === null || keyHint === null || keyOwner === null
        ? null
        : { name: keyName, hint: keyHint, owner: keyOwner }
  }
}

export const makeUsageReport = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const labels = {
    day: sql`to_char(created_at, 'YYYY-MM-DD')`,
    model: sql`model`,
    key: sql`key_id::text`
  }
  const order = {
    day: sql`label DESC`,
    model: sql`input_tokens + output_tokens DESC, label`,
    key: sql`input_tokens + output_tokens DESC, label`
  }

  // The sums of all come first, and so are never left out.
  const select = SqlSchema.findAll({
    Request: Schema.Struct({
      userId: Schema.NullOr(Schema.String),
      organizationId: Schema.NullOr(Schema.String),
      keyId: Schema.NullOr(Schema.String),
      by: Schema.Literals(["day", "model", "key"]),
      since: Schema.String,
      until: Schema.String
    }),
    Result: Row,
    execute: ({ by, keyId, organizationId, since, until, userId }) => sql`
      WITH labelled AS (
        SELECT ${labels[by]} AS label, outcome, source, input_tokens, output_tokens, tool_calls, latency_millis
        FROM usage_records
        WHERE created_at >= ${since}::date AND created_at < ${until}::date + 1
          AND (${userId}::uuid IS NULL OR user_id = ${userId}::uuid)
          AND (${organizationId}::uuid IS NULL OR organization_id = ${organizationId}::uuid)
          AND (${keyId}::uuid IS NULL OR key_id = ${keyId}::uuid)
      ), summed AS (
        SELECT grouping(label) = 1 AS is_total, label, count(*)::float8 AS requests,
          count(*) FILTER (WHERE outcome = 'completed')::float8 AS completed,
          count(*) FILTER (WHERE source = 'tokenizer')::float8 AS tokenizer_counted,
          coalesce(sum(input_tokens), 0)::float8 AS input_tokens,
          coalesce(sum(output_tokens), 0)::float8 AS output_tokens,
          coalesce(sum(tool_calls), 0)::float8 AS tool_calls, round(avg(latency_millis))::float8 AS latency_millis
        FROM labelled GROUP BY GROUPING SETS ((label), ())
      )
      SELECT summed.*, api_keys.name AS key_name, api_keys.hint AS key_hint, users.email AS key_owner
      FROM summed
      LEFT JOIN api_keys ON ${by === "key"} AND api_keys.id::text = summed.label
      LEFT JOIN users ON users.id = api_keys.user_id
      ORDER BY is_total DESC, ${order[by]} LIMIT ${linesMax + 1}`
  })

  return Effect.fn("Usage.report")(function* (request: ReportRequest) {
    const [total = nothing, ...lines] = yield* select(request)
    return { lines: lines.map(lineOf), total } satisfies Report
  }, orUnavailable)
})
