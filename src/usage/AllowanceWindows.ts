import { DateTime, Order } from "effect"
import type { AllowanceState, KeyAllowance, Span, WindowUse } from "../domain/Allowance.ts"
import { UsageLimitExceeded } from "../domain/Errors.ts"
import type { KeyLimits } from "../domain/KeyLimits.ts"
import type { SourcedLimits } from "./LimitTable.ts"
import { type Asked, type Counted, windowsOf } from "./TokenCounters.ts"

const step = { daily: { days: 1 }, monthly: { months: 1 } } as const

/** When the window that begins on this day ends. */
const endOf = (span: Span, first: string): DateTime.Utc =>
  DateTime.add(DateTime.makeUnsafe(first), step[span])

/** When to retry where only running requests are in the way: they may end at any moment. */
const heldRetrySeconds = 2

/** A limit in a window, and what is counted there. */
interface Bound {
  readonly owner: Asked["owner"]
  readonly window: Span
  readonly limit: number
  readonly used: number
  readonly held: number
  /** The day on which the window began. */
  readonly first: string
}

const boundsOf = (asked: Asked): ReadonlyArray<Bound> => {
  const { owner } = asked
  const bound = (window: Span, limit: number | null, first: string, used: number, held: number) =>
    limit === null ? [] : [{ owner, window, limit, used, held, first }]
  return [
    ...bound("monthly", asked.monthly, asked.month, asked.monthUsed, asked.monthReserved),
    ...bound("daily", asked.daily, asked.day, asked.dayUsed, asked.dayReserved)
  ]
}

const isSpent = ({ limit, used }: Bound): boolean => used >= limit

const leftWithin = ({ held, limit, used }: Bound): number => limit - used - held

/** Tokens that are neither spent nor reserved, of the limits of one owner. */
export const leftOf = (asked: Asked): number =>
  Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...boundsOf(asked).map(leftWithin)))

/**
 * Orders spent bounds before reserved ones, then by the latest reset, then the tighter limit, then the
 * user's.
 */
const mostRestrictiveFirst = Order.combineAll([
  Order.mapInput(Order.Boolean, (bound: Bound) => !isSpent(bound)),
  Order.mapInput(Order.Boolean, (bound: Bound) => bound.window === "daily"),
  Order.mapInput(Order.Number, leftWithin),
  Order.mapInput(Order.Boolean, (bound: Bound) => bound.owner === "key")
])

/** The refusal by the bound that applies for longest. */
export const exceeded = (asked: ReadonlyArray<Asked>, now: DateTime.Utc): UsageLimitExceeded | null => {
  const [bound] = asked
    .flatMap(boundsOf)
    .filter((one) => leftWithin(one) <= 0)
    .toSorted(mostRestrictiveFirst)
  if (bound === undefined) return null
  const { first, ...numbers } = bound
  const resetsAt = endOf(bound.window, first)
  const seconds = Math.ceil((DateTime.toEpochMillis(resetsAt) - DateTime.toEpochMillis(now)) / 1000)
  const wait = isSpent(bound) ? seconds : Math.min(heldRetrySeconds, seconds)
  return new UsageLimitExceeded({ ...numbers, resetsAt, retryAfterSeconds: Math.max(1, wait) })
}

/** The windows at a time: those that were counted, or newer ones that are still empty. */
const windowUses = (counted: Counted, now: DateTime.Utc): Readonly<Record<Span, WindowUse>> => {
  const { day, month } = windowsOf(now)
  const useOf = (span: Span, first: string, used: number, reserved: number, current: string) => {
    const isOver = first < current
    return {
      used: isOver ? 0 : used,
      reserved: isOver ? 0 : reserved,
      resetsAt: endOf(span, isOver ? current : first)
    }
  }
  return {
    daily: useOf("daily", counted.day, counted.dayUsed, counted.dayReserved, day),
    monthly: useOf("monthly", counted.month, counted.monthUsed, counted.monthReserved, month)
  }
}

export const allowanceState = (
  { daily, monthly, sources }: SourcedLimits,
  counted: Counted,
  now: DateTime.Utc
): AllowanceState => {
  const uses = windowUses(counted, now)
  return {
    daily: { limit: daily, source: sources.daily, ...uses.daily },
    monthly: { limit: monthly, source: sources.monthly, ...uses.monthly }
  }
}

export const keyAllowance = (limits: KeyLimits, counted: Counted, now: DateTime.Utc): KeyAllowance => {
  const { dailyTokens, monthlyTokens, requestsPerMinute } = limits
  const { daily, monthly } = windowUses(counted, now)
  return {
    daily: dailyTokens === null ? null : { limit: dailyTokens, ...daily },
    monthly: monthlyTokens === null ? null : { limit: monthlyTokens, ...monthly },
    requestsPerMinute
  }
}

/** The state of a user or a key without counters. */
export const notCounted = (now: DateTime.Utc, dayUsed: number, monthUsed: number): Counted => ({
  ...windowsOf(now),
  dayUsed,
  dayReserved: 0,
  monthUsed,
  monthReserved: 0
})
