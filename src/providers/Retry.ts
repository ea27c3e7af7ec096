import type { Fault } from "./Fault.ts"

/** How often a request is put again at most, and how long after it was put first. */
export interface RetryBudget {
  readonly retriesMax: number
  readonly seconds: number
}

/** However much time is left, a request is put again no more often than this. */
const retriesMax = 4

/** Where another model can answer, asking again must be worth it at once. */
const fallbackBudget: RetryBudget = { retriesMax: 1, seconds: 0.5 }

export const retryBudget = (seconds: number, hasFallback: boolean): RetryBudget =>
  hasFallback
    ? { ...fallbackBudget, seconds: Math.min(seconds, fallbackBudget.seconds) }
    : { retriesMax, seconds }

/** The first wait, which doubles with each that follows; up to half of a wait is left to chance. */
const firstWaitSeconds = 0.25
const waitSecondsMax = 8

/** Up to this share is added to a wait that the server asked for, so that not everyone comes back at once. */
const askedWaitJitter = 0.1

/** Errors in a stream that pass by themselves, by what servers call them. */
const passing = /overloaded|rate_limit|unavailable|server_error|api_error|internal|timeout|try_again/

const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529])

/** Whether the same request may well succeed a little later. Nothing of the answer may have been shown. */
export const isPassing = (fault: Fault): boolean => {
  if (fault.reason === "misconfigured" || fault.reason === "context_length") return false
  if (fault.status !== undefined) return retriedStatuses.has(fault.status)
  if (fault.reason === "in_stream") return passing.test(fault.detail)
  return fault.reason === "refused" || fault.reason === "cut"
}

/**
 * How many seconds to wait before a failed request is put again; null where that isn't worth it, or wouldn't happen within
 * the budget. `chance` is between 0 and 1.
 */
export const retryWait = (
  fault: Fault,
  past: { readonly retries: number; readonly seconds: number; readonly askedSeconds: number | undefined },
  budget: RetryBudget,
  chance: number
): number | null => {
  if (past.retries >= budget.retriesMax || !isPassing(fault)) return null
  const backoff = Math.min(waitSecondsMax, firstWaitSeconds * 2 ** past.retries) * (1 - chance / 2)
  const wait = Math.max(backoff, (past.askedSeconds ?? 0) * (1 + askedWaitJitter * chance))
  return past.seconds + wait <= budget.seconds ? wait : null
}
