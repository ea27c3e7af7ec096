import { Schema } from "effect"
import { AccountName, Email } from "../domain/Account.ts"
import { CalendarDay, ReportBy } from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"

/** What a report of usage is asked for, and what it says. */

/** At most one of the first three; without them, the usage of all users. */
export const usageQuery = {
  email: Schema.optionalKey(Email),
  organization: Schema.optionalKey(AccountName),
  key_id: Schema.optionalKey(ApiKeyId),
  by: Schema.optionalKey(ReportBy),
  /** The first day and the last one, UTC; without them the last 30 days. */
  since: Schema.optionalKey(CalendarDay),
  until: Schema.optionalKey(CalendarDay)
}

const sums = {
  requests: Schema.Int,
  completed: Schema.Int,
  /** Requests whose tokens the tokenizer counted, because the provider reported none. */
  tokenizer_counted: Schema.Int,
  input_tokens: Schema.Int,
  /** Of the input tokens, those that providers read from their prompt caches, and those that they wrote to them. */
  cached_input_tokens: Schema.Int,
  cache_write_input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  /** Of the output tokens, those of reasoning. */
  reasoning_tokens: Schema.Int,
  tool_calls: Schema.Int,
  /** Average time from the request to the end of the answer, failed or not; null if unknown. */
  latency_millis: Schema.NullOr(Schema.Finite),
  /** By the present prices of the catalog, for the requests whose model has one; left out where none has. */
  cost: Schema.optionalKey(Schema.Finite)
}

export const UsageBody = Schema.Struct({
  since: Schema.String,
  until: Schema.String,
  days: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      /** The day, the name of the model or of the organization, the e-mail address of the user, or the id of the key. */
      label: Schema.String,
      ...sums,
      /** Null unless the report is split by key. */
      key: Schema.NullOr(Schema.Struct({ name: Schema.String, hint: Schema.String, owner: Schema.String }))
    })
  ),
  /** Of all requests, including those of lines beyond the limit. */
  total: Schema.Struct(sums)
})
