import { Schema, Struct } from "effect"
import { tokensMax } from "./Allowance.ts"

/** The largest limit of a key, in requests. */
export const requestsPerMinuteMax = 100_000

const limit = (max: number) => Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: max })))

/** The limits of one key, within those of its user. Null: no limit besides those of the user. */
export const KeyLimits = Schema.Struct({
  /** Input and output together, per day and per month (UTC). */
  dailyTokens: limit(tokensMax),
  monthlyTokens: limit(tokensMax),
  requestsPerMinute: limit(requestsPerMinuteMax)
})
export type KeyLimits = typeof KeyLimits.Type
export const keyLimitNames = Struct.keys(KeyLimits.fields)

/** Omitted limits stay as they are. */
export type KeyLimitChanges = Partial<KeyLimits>

/** The limits of a key that was created without any. */
export const noKeyLimits: KeyLimits = { dailyTokens: null, monthlyTokens: null, requestsPerMinute: null }

export const hasTokenLimit = ({ dailyTokens, monthlyTokens }: KeyLimits): boolean =>
  dailyTokens !== null || monthlyTokens !== null
