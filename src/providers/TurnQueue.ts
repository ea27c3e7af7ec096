/** Whoever waits. */
export interface Waiter {
  /** For whom. */
  readonly user: string
  readonly granted: () => void
}

/**
 * Gives out a number of places. The next one that gets free goes to the user whose turn it is: users take turns, and each
 * user's own requests come in their order, so that many of one user don't keep the others waiting.
 */
export class TurnQueue {
  private readonly placesMax: number
  private taken = 0
  private waitingCount = 0
  /** Whose turn is next is first; maps and sets keep the order. No line is empty. */
  private readonly lines = new Map<string, Set<Waiter>>()

  constructor(placesMax: number) {
    this.placesMax = placesMax
  }

  get takenPlaces(): number {
    return this.taken
  }

  get waiting(): number {
    return this.waitingCount
  }

  /** True where a place was free; it isn't while somebody waits. */
  take(): boolean {
    if (this.taken >= this.placesMax) return false
    this.taken++
    return true
  }

  wait(waiter: Waiter): void {
    const line = this.lines.get(waiter.user)
    if (line === undefined) this.lines.set(waiter.user, new Set([waiter]))
    else line.add(waiter)
    this.waitingCount++
  }

  /** Waits no longer. */
  forget(waiter: Waiter): void {
    const line = this.lines.get(waiter.user)
    if (line?.delete(waiter) !== true) return
    this.waitingCount--
    if (line.size === 0) this.lines.delete(waiter.user)
  }

  /** A place is free: it passes to the next who waits. */
  release(): void {
    const [user, line] = this.lines.entries().next().value ?? []
    const [waiter] = line ?? []
    if (user === undefined || line === undefined || waiter === undefined) {
      this.taken--
      return
    }
    this.forget(waiter)
    // The user's next request comes after one of every other user.
    if (this.lines.delete(user)) this.lines.set(user, line)
    waiter.granted()
  }
}
