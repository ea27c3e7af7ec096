import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeyId, ResponseId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowsAs } from "../sql/rows.ts"

/** Records that one statement changes. */
const recordsPerStepMax = 2_000

/**
 * Removes the link between a deleted user and the user's spending. Tokens, models and times stay for the sums
 * of the organization and of the installation, without user and key. Returns the number of changed records.
 * The counters are deleted with the last records.
 */
export const makeUsageErasure = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("Usage.eraseSome")(function* (userId: UserId) {
    const changed = yield* sql`
      UPDATE usage_records SET user_id = NULL, key_id = NULL WHERE response_id IN (
        SELECT response_id FROM usage_records WHERE user_id = ${userId} LIMIT ${recordsPerStepMax}
      ) RETURNING 1`
    if (changed.length > 0) return changed.length
    yield* sql`DELETE FROM token_limits WHERE user_id = ${userId}`
    yield* sql`
      DELETE FROM token_counters
      WHERE owner_id = ${userId} OR owner_id IN (SELECT id FROM api_keys WHERE user_id = ${userId})`
    return 0
  }, orUnavailable)
)

const RecordRow = Schema.Struct({
  responseId: ResponseId,
  keyId: Schema.NullOr(ApiKeyId),
  model: Schema.String,
  inputTokens: Schema.Int,
  cachedInputTokens: Schema.Int,
  cacheWriteInputTokens: Schema.Int,
  outputTokens: Schema.Int,
  reasoningTokens: Schema.Int,
  source: Schema.String,
  outcome: Schema.String,
  toolCalls: Schema.Int,
  latencyMillis: Schema.NullOr(Schema.Int),
  createdAt: Schema.DateTimeUtcFromDate
})
export type UsageRecord = typeof RecordRow.Type

/**
 * The place at which a list of records continues. Times of the database have microseconds, so the place is
 * the record itself.
 */
export type AfterRecord = Pick<UsageRecord, "responseId">

/** The records of a user, oldest first. */
export const makeUsageRecords = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("Usage.recordsOf")(function* (userId: UserId, after?: AfterRecord) {
    const rows = yield* sql`
      SELECT response_id, key_id, model, input_tokens, cached_input_tokens, cache_write_input_tokens, output_tokens,
        reasoning_tokens, source, outcome, tool_calls, latency_millis, created_at
      FROM usage_records WHERE user_id = ${userId} ${
        after === undefined
          ? sql.literal("")
          : sql`AND (created_at, response_id) >
              (SELECT created_at, response_id FROM usage_records WHERE response_id = ${after.responseId})`
      }
      ORDER BY created_at, response_id LIMIT ${pageRowsAsked}`.pipe(rowsAs(RecordRow))
    return pageOf(rows)
  }, orUnavailable)
)
