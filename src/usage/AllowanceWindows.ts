import { DateTime } from "effect"
import type { AllowanceState, Span, TokenLimits } from "../domain/Allowance.ts"
import { UsageLimitExceeded } from "../domain/Errors.ts"
import type { SourcedLimits } from "./LimitTable.ts"
import { type Counted, windowsOf } from "./TokenCounters.ts"

const step = { daily: { days: 1 }, monthly: { months: 1 } } as const

/** When the window that begins on this day ends. */
const endOf = (span: Span, first: string): DateTime.Utc =>
  DateTime.add(DateTime.makeUnsafe(first), step[span])

/** When to retry where only running requests are in the way: they may end at any moment. */
const heldRetrySeconds = 2

/** A window that is spent, or else one that is reserved: of two, the one that resets last. */
const windowInTheWay = (
  used: Readonly<Record<Span, number>>,
  held: Readonly<Record<Span, number>>,
  limits: TokenLimits
): Span => {
  const isReached = (span: Span, tokens: number) => tokens >= (limits[span] ?? Number.POSITIVE_INFINITY)
  if (isReached("monthly", used.monthly)) return "monthly"
  if (isReached("daily", used.daily)) return "daily"
  return isReached("monthly", used.monthly + held.monthly) ? "monthly" : "daily"
}

/** Tokens that are neither spent nor reserved. */
export const leftOf = (counted: Counted, { daily, monthly }: TokenLimits): number =>
  Math.max(
    0,
    Math.min(
      (daily ?? Number.POSITIVE_INFINITY) - counted.dayUsed - counted.dayReserved,
      (monthly ?? Number.POSITIVE_INFINITY) - counted.monthUsed - counted.monthReserved
    )
  )

/** Why nothing was granted. */
export const exceeded = (counted: Counted, limits: TokenLimits, now: DateTime.Utc): UsageLimitExceeded => {
  const used = { daily: counted.dayUsed, monthly: counted.monthUsed }
  const held = { daily: counted.dayReserved, monthly: counted.monthReserved }
  const window = windowInTheWay(used, held, limits)
  const limit = limits[window] ?? 0
  const end = endOf(window, window === "daily" ? counted.day : counted.month)
  const seconds = Math.ceil((DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now)) / 1000)
  const wait = used[window] >= limit ? seconds : Math.min(heldRetrySeconds, seconds)
  return new UsageLimitExceeded({
    window,
    used: used[window],
    held: held[window],
    limit,
    resetsAt: end,
    retryAfterSeconds: Math.max(1, wait)
  })
}

/** The windows at a time: those that were counted, or newer ones that are still empty. */
export const allowanceState = (
  { sources, ...limits }: SourcedLimits,
  counted: Counted,
  now: DateTime.Utc
): AllowanceState => {
  const { day, month } = windowsOf(now)
  const state = (span: Span, first: string, used: number, reserved: number, current: string) => {
    const isOver = first < current
    return {
      limit: limits[span],
      source: sources[span],
      used: isOver ? 0 : used,
      reserved: isOver ? 0 : reserved,
      resetsAt: endOf(span, isOver ? current : first)
    }
  }
  return {
    daily: state("daily", counted.day, counted.dayUsed, counted.dayReserved, day),
    monthly: state("monthly", counted.month, counted.monthUsed, counted.monthReserved, month)
  }
}

/** For a user who has no counters yet. */
export const notCounted = (now: DateTime.Utc, dayUsed: number, monthUsed: number): Counted => ({
  ...windowsOf(now),
  granted: 0,
  dayUsed,
  dayReserved: 0,
  monthUsed,
  monthReserved: 0
})
