import { Schema } from "effect"
import { Email, AccountName } from "../domain/Account.ts"
import { CalendarDay, LimitChange, LimitSource, UsageBy } from "../domain/Allowance.ts"
import { ApiKeyId } from "../domain/Ids.ts"

/** Limits of tokens and reports of usage, as the operator's side says them. */

const Window = Schema.Struct({
  /** Null: no limit. */
  limit: Schema.NullOr(Schema.Int),
  source: LimitSource,
  used: Schema.Int,
  /** Held by requests under way. */
  reserved: Schema.Int,
  resets_at: Schema.DateTimeUtcFromString
})

export const LimitsBody = Schema.Struct({ email: Schema.String, daily: Window, monthly: Window })

/** A limit that is left out stays as it is. */
export const SetLimitsPayload = Schema.Struct({
  email: Email,
  daily: Schema.optionalKey(LimitChange),
  monthly: Schema.optionalKey(LimitChange)
})

/** At most one of the first three; none of them: everybody. */
export const usageQuery = {
  email: Schema.optionalKey(Email),
  organization: Schema.optionalKey(AccountName),
  key_id: Schema.optionalKey(ApiKeyId),
  by: Schema.optionalKey(UsageBy),
  /** The first day and the last one, UTC; without them the last 30 days. */
  since: Schema.optionalKey(CalendarDay),
  until: Schema.optionalKey(CalendarDay)
}

const sums = {
  requests: Schema.Int,
  completed: Schema.Int,
  /** Requests whose tokens the tokenizer counted, because no provider said. */
  tokenizer_counted: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  tool_calls: Schema.Int,
  /** On average, from the request to the end of the answer, whatever became of it; null where it is not known. */
  latency_millis: Schema.NullOr(Schema.Finite)
}

export const UsageBody = Schema.Struct({
  since: Schema.String,
  until: Schema.String,
  days: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      /** The day, the name of the model, or the id of the key. */
      label: Schema.String,
      ...sums,
      /** Null unless it is split by key. */
      key: Schema.NullOr(Schema.Struct({ name: Schema.String, hint: Schema.String, owner: Schema.String }))
    })
  ),
  /** Of everything, also of what has no line because there are too many. */
  total: Schema.Struct(sums)
})
