import { failuresMax } from "./Circuits.ts"

/** While others ask, at most so many failures in a row of one user count against a provider. */
export const failuresPerUserMax = 3

/** A user is alone after nobody else has asked for so long. */
export const aloneSeconds = 60

/**
 * Decides whose failures count against a provider. A prompt on which a server fails is the prompt's fault as long as other
 * users' requests succeed, so the failures of a single user never open the circuit for others who ask as well. Times are
 * monotonic, in seconds.
 */
export class Blame {
  /** Who was there last and when, and when another user was before. */
  private last: { readonly user: string; readonly seconds: number } | null = null
  private otherSeconds = Number.NEGATIVE_INFINITY
  /** Failures in a row that count, by user. Emptied when they open the circuit, so that they are few. */
  private readonly counted = new Map<string, number>()
  private countedTotal = 0
  private failedLast: string | null = null

  /** A request of the user began or was answered. */
  seen(user: string, now: number): void {
    if (this.last !== null && this.last.user !== user) this.otherSeconds = this.last.seconds
    this.last = { user, seconds: now }
  }

  succeeded(): void {
    this.forget()
    this.failedLast = null
  }

  /** Whether a failure of a user's request counts against the provider. */
  failed(user: string, now: number): boolean {
    const before = this.counted.get(user) ?? 0
    if (before >= failuresPerUserMax && this.othersAsk(user, now)) return false
    this.failedLast = user
    this.counted.set(user, before + 1)
    this.countedTotal++
    if (this.countedTotal >= failuresMax) this.forget()
    return true
  }

  /** Whether a probe of an open circuit is left to other users, because it was this user's request that failed last. */
  isTurnOfOthers(user: string, now: number): boolean {
    return this.failedLast === user && this.othersAsk(user, now)
  }

  private forget(): void {
    this.counted.clear()
    this.countedTotal = 0
  }

  private othersAsk(user: string, now: number): boolean {
    const seconds = this.last !== null && this.last.user !== user ? this.last.seconds : this.otherSeconds
    return now - seconds < aloneSeconds
  }
}
