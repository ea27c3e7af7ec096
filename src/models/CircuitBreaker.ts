/** After so many failures in a row a server is left alone. */
export const failuresMax = 5

/** It is left alone for so long, and twice as long after each further failure. */
export const openSecondsMin = 5
export const openSecondsMax = 60

/** Whoever comes while one request tries the server is told to come again after this. */
const trialSeconds = 1

/** Asks a server that fails again and again only now and then. Times are monotonic, in seconds. */
export class CircuitBreaker {
  private failures = 0
  private openSeconds = openSecondsMin
  private openUntil: number | null = null
  private trying = false

  get isOpen(): boolean {
    return this.openUntil !== null
  }

  /** Whether a request is trying right now whether the server is well again. */
  get isTrying(): boolean {
    return this.trying
  }

  /** How long the server is still to be left alone; 0 where it may be asked. */
  waitSeconds(now: number): number {
    if (this.openUntil === null) return 0
    if (now < this.openUntil) return this.openUntil - now
    return this.trying ? trialSeconds : 0
  }

  /** Somebody asks the server. True for the one request that tries whether it is well again. */
  enter(): boolean {
    if (this.openUntil === null) return false
    this.trying = true
    return true
  }

  /** An answer has begun, or is over. What was asked before the failures says nothing about the server now. */
  succeeded(isTrial: boolean): void {
    if (this.openUntil !== null && !isTrial) return
    this.failures = 0
    this.openSeconds = openSecondsMin
    this.openUntil = null
    this.trying = false
  }

  failed(isTrial: boolean, now: number): void {
    if (this.openUntil !== null && !isTrial) return
    this.failures++
    this.trying = false
    if (isTrial) this.openSeconds = Math.min(openSecondsMax, this.openSeconds * 2)
    if (isTrial || this.failures >= failuresMax) this.openUntil = now + this.openSeconds
  }

  /** The trial ended without saying anything about the server; the next request is the trial then. */
  gaveUp(): void {
    this.trying = false
  }
}
