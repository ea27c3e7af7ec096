import { DateTime } from "effect"
import type { AllowanceState, Span, TokenLimits } from "../domain/Allowance.ts"
import { UsageLimitExceeded } from "../domain/Errors.ts"
import type { SourcedLimits } from "./LimitTable.ts"
import { type Counted, windowsOf } from "./TokenCounters.ts"

const step = { daily: { days: 1 }, monthly: { months: 1 } } as const

/** When the window that begins on this day ends. */
const endOf = (span: Span, first: string): DateTime.Utc =>
  DateTime.add(DateTime.makeUnsafe(first), step[span])

/** Of two windows that are used up, the one that resets last is what the client must wait for. */
export const exceeded = (counted: Counted, limits: TokenLimits, now: DateTime.Utc): UsageLimitExceeded => {
  const monthUsed = counted.monthUsed + counted.monthReserved
  const window = limits.monthly !== null && monthUsed >= limits.monthly ? "monthly" : "daily"
  const end = window === "daily" ? endOf("daily", counted.day) : endOf("monthly", counted.month)
  const millis = DateTime.toEpochMillis(end) - DateTime.toEpochMillis(now)
  return new UsageLimitExceeded({
    window,
    used: window === "daily" ? counted.dayUsed + counted.dayReserved : monthUsed,
    limit: limits[window] ?? 0,
    retryAfterSeconds: Math.max(1, Math.ceil(millis / 1000))
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
