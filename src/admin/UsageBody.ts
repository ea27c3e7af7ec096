import { Schema } from "effect"
import { Email, AccountName } from "../domain/Account.ts"
import { LimitChange, LimitSource, UsageBy } from "../domain/Allowance.ts"
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
  by: Schema.optionalKey(UsageBy)
}

export const UsageBody = Schema.Struct({
  days: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      /** The day, the name of the model, or the id of the key. */
      label: Schema.String,
      requests: Schema.Int,
      completed: Schema.Int,
      input_tokens: Schema.Int,
      output_tokens: Schema.Int,
      tool_calls: Schema.Int,
      /** On average, of whole answers; null where it is not known. */
      latency_millis: Schema.NullOr(Schema.Finite)
    })
  )
})
