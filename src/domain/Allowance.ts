import { DateTime, Option, Schema } from "effect"

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

/** The most days that one report of usage covers, a year and its leap day. */
export const reportDaysMax = 366

/** Whether it is a day of the calendar, such as 2026-02-28. Nothing was spent before 1970, and there is no year 0. */
const isDay = (text: string): boolean =>
  /^(19[7-9]|[2-9]\d\d)\d-\d{2}-\d{2}$/.test(text) &&
  Option.exists(DateTime.make(text), (time) => DateTime.formatIsoDateUtc(time) === text)

/** What a day must be, in words that follow "must be". */
export const expectedDay = "a day from 1970 on, such as 2026-02-28"

/** A day, from midnight to midnight UTC. */
export const CalendarDay = Schema.String.check(Schema.makeFilter(isDay, { expected: expectedDay }))

const dayMillis = 86_400_000

/** How many days there are from one to the other, both included; less than 1 where they are in the wrong order. */
export const daysBetween = (first: string, last: string): number =>
  (Date.parse(last) - Date.parse(first)) / dayMillis + 1
