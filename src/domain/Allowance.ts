import { DateTime, Option, Schema } from "effect"

/** The largest limit, in tokens; a float holds all sums of it exactly. */
export const tokensMax = 100_000_000_000_000

/** The windows of token limits. */
export const Span = Schema.Literals(["daily", "monthly"])
export type Span = typeof Span.Type

/** The most tokens that a user may spend, input and output together; null: no limit. */
export interface TokenLimits {
  readonly daily: number | null
  readonly monthly: number | null
}

/** A new limit: a number of tokens, null for no limit, or `default` for that of the plan or the settings. */
export const LimitChange = Schema.Union([
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: tokensMax })),
  Schema.Null,
  Schema.Literal("default")
])
export type LimitChange = typeof LimitChange.Type

/** The origin of a limit. */
export const LimitSource = Schema.Literals(["user", "plan", "settings"])
export type LimitSource = typeof LimitSource.Type

/** The tokens that are counted in the current window. */
const WindowUse = Schema.Struct({
  used: Schema.Int,
  /** The tokens that running requests have reserved. */
  reserved: Schema.Int,
  resetsAt: Schema.DateTimeUtcFromString
})
export type WindowUse = typeof WindowUse.Type

/** The limit of a user in the current window; null: no limit. */
export const WindowState = Schema.Struct({
  limit: Schema.NullOr(Schema.Int),
  source: LimitSource,
  ...WindowUse.fields
})
export type WindowState = typeof WindowState.Type

/** The limit of a key in the current window. */
export const KeyWindow = Schema.Struct({ limit: Schema.Int, ...WindowUse.fields })
export type KeyWindow = typeof KeyWindow.Type

export interface AllowanceState {
  readonly daily: WindowState
  readonly monthly: WindowState
}

/** The limits of a key, and the use of them; null without a limit. */
export interface KeyAllowance {
  readonly daily: KeyWindow | null
  readonly monthly: KeyWindow | null
  readonly requestsPerMinute: number | null
}

/** The groups of a usage report. */
export const UsageBy = Schema.Literals(["day", "model", "key"])
export type UsageBy = typeof UsageBy.Type

/** The groups of an operator's report. */
export const ReportBy = Schema.Literals([...UsageBy.literals, "user", "org"])
export type ReportBy = typeof ReportBy.Type

/** The sums of a line of a usage report. */
export const UsageSums = Schema.Struct({
  requests: Schema.Int,
  completed: Schema.Int,
  /** Requests whose tokens the tokenizer counted, because the provider reported none. */
  tokenizerCounted: Schema.Int,
  inputTokens: Schema.Int,
  /** The input tokens that providers read from their prompt caches, and those that they wrote to them. */
  cachedInputTokens: Schema.Int,
  cacheWriteInputTokens: Schema.Int,
  outputTokens: Schema.Int,
  /** The output tokens of reasoning. */
  reasoningTokens: Schema.Int,
  toolCalls: Schema.Int,
  /** Average time from the request to the end of the answer, failed or not; null if it is unknown for all. */
  latencyMillis: Schema.NullOr(Schema.Finite),
  /**
   * The cost by the prices at the time of the request, for the models that have prices; null if no model has.
   */
  cost: Schema.NullOr(Schema.Finite)
})
export type UsageSums = typeof UsageSums.Type

/** The most days of one usage report: a leap year. */
export const reportDaysMax = 366

/** True for a date of the calendar from 1970 on. */
const isDay = (text: string): boolean =>
  /^(19[7-9]|[2-9]\d\d)\d-\d{2}-\d{2}$/.test(text) &&
  Option.exists(DateTime.make(text), (time) => DateTime.formatIsoDateUtc(time) === text)

/** A description that completes "must be". */
export const expectedDay = "a day from 1970 on, such as 2026-02-28"

/** A day in UTC. */
export const CalendarDay = Schema.String.check(Schema.makeFilter(isDay, { expected: expectedDay }))

const dayMillis = 86_400_000

/** The number of days, both included; less than 1 in the wrong order. */
export const daysBetween = (first: string, last: string): number =>
  (Date.parse(last) - Date.parse(first)) / dayMillis + 1
