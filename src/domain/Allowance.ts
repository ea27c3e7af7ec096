import { type DateTime, Schema } from "effect"

/** The largest limit, in tokens; a float holds all sums of it exactly. */
export const tokensMax = 100_000_000_000_000

/** The lengths of time for which tokens are limited. */
export const Span = Schema.Literals(["daily", "monthly"])
export type Span = typeof Span.Type

/** The most tokens that a user may spend, read and written together; null where there is no limit. */
export interface TokenLimits {
  readonly daily: number | null
  readonly monthly: number | null
}

/** A limit to set: so many tokens, none at all, or again what the plan or the settings say. */
export const LimitChange = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: tokensMax })),
  Schema.Null,
  Schema.Literal("default")
])
export type LimitChange = typeof LimitChange.Type

/** Who set a limit: for the user alone, by the plan of the user's organization, or for everybody. */
export const LimitSource = Schema.Literals(["user", "plan", "settings"])
export type LimitSource = typeof LimitSource.Type

/** A limit of a user in the window that is open. */
export interface WindowState {
  /** Null: no limit. */
  readonly limit: number | null
  readonly source: LimitSource
  readonly used: number
  /** Held by requests under way. */
  readonly reserved: number
  readonly resetsAt: DateTime.Utc
}

export interface AllowanceState {
  readonly daily: WindowState
  readonly monthly: WindowState
}

/** By what a report of usage is split. */
export const UsageBy = Schema.Literals(["day", "model", "key"])
export type UsageBy = typeof UsageBy.Type
