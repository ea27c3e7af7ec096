import { DateTime } from "effect"
import type { AllowanceState, Span, TokenLimits } from "../domain/Allowance.ts"
import { UsageLimitExceeded } from "../domain/Errors.ts"
import type { SourcedLimits } from "./LimitTable.ts"
import { type Counted, windowsOf } from "./TokenCounters.ts"

const step = { daily: { days: 1 }, monthly: { months: 1 } } as const

/** When the window that begins on this day ends. */
const endOf = (span: Span, first: string): DateTime.Utc =>
  DateTime.add(DateTime.makeUnsafe(first), step[span])

/** When to come again where only running requests stand in the way. They may end at any moment. */
const heldRetrySeconds = 2

/** Of two windows that are spent, or of two that are held, the one that resets last. A spent one is waited for longer. */
const windowInTheWay = (
  used: Readonly<Record<Span, number>>,
  held: Readonly<Record<Span, number>>,
  limits: TokenLimits
): Span => {
  const isSpent = (span: Span) => used[span] >= (limits[span] ?? Number.POSITIVE_INFINITY)
  const isHeld = (span: Span) => used[span] + held[span] >= (limits[span] ?? Number.POSITIVE_INFINITY)
  if (isSpent("monthly")) return "monthly"
  if (isSpent("daily")) return "daily"
  return isHeld("monthly") ? "monthly" : "daily"
}

/** What is neither spent nor held, after a grant. */
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

/** The windows at a time: those that were counted, or newer ones in which nothing was asked yet. */
export const allowanceState = (
  { sources, ...limits }: SourcedLimits,
  counted: Counted,
  now: DateTime.Utc
): AllowanceState => {
  const { day, month } = windowsOf(now)
  const daily =
    counted.day < day
      ? { first: day, used: 0, reserved: 0 }
      : {
          first: counted.day,
          used: counted.dayUsed,
          reserved: counted.dayReserved
        }
  const monthly =
    counted.month < month
      ? { first: month, used: 0, reserved: 0 }
      : {
          first: counted.month,
          used: counted.monthUsed,
          reserved: counted.monthReserved
        }
  const state = (span: Span, { first, reserved, used }: typeof daily) => ({
    limit: limits[span],
    source: sources[span],
    used,
    reserved,
    resetsAt: endOf(span, first)
  })
  return { daily: state("daily", daily), monthly: state("monthly", monthly) }
}

/** What stands for the counters of a user who has none yet. */
export const notCounted = (now: DateTime.Utc, dayUsed: number, monthUsed: number): Counted => ({
  ...windowsOf(now),
  granted: 0,
  dayUsed,
  dayReserved: 0,
  monthUsed,
  monthReserved: 0
})
