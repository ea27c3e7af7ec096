import { classify, type Fault } from "./Fault.ts"

/** How often a request is retried at most, and how long after the first attempt. */
interface RetryBudget {
  readonly retriesMax: number
  readonly seconds: number
}

const retriesMax = 4

/** With a fallback, only a retry that comes at once is worth it. */
const fallbackBudget: RetryBudget = { retriesMax: 1, seconds: 0.5 }

export const retryBudget = (seconds: number, hasFallback: boolean): RetryBudget =>
  hasFallback
    ? { ...fallbackBudget, seconds: Math.min(seconds, fallbackBudget.seconds) }
    : { retriesMax, seconds }

/** A model that has made two bad calls makes a third. */
const badCallRetriesMax = 1

/** The wait before the first retry, which doubles with each that follows; up to half of a wait is random. */
const firstWaitSeconds = 0.25
const waitSecondsMax = 8

/** Up to this share is added to a wait that the server asked for, so that not all requests come back at once. */
const askedWaitJitter = 0.1

/**
 * How many seconds to wait before a retry; null where that isn't worth it, or wouldn't fit the budget. `chance` is between 0 and 1.
 */
export const retryWait = (
  fault: Fault,
  past: { readonly retries: number; readonly seconds: number; readonly askedSeconds: number | undefined },
  budget: RetryBudget,
  chance: number
): number | null => {
  const most = fault._tag === "CallMalformed" ? badCallRetriesMax : budget.retriesMax
  if (past.retries >= Math.min(most, budget.retriesMax) || !classify(fault).isRetryable) return null
  const backoff = Math.min(waitSecondsMax, firstWaitSeconds * 2 ** past.retries) * (1 - chance / 2)
  const wait = Math.max(backoff, (past.askedSeconds ?? 0) * (1 + askedWaitJitter * chance))
  return past.seconds + wait <= budget.seconds ? wait : null
}
