/** Whoever waits. */
export interface Waiter {
  readonly granted: () => void
}

/** Gives out a number of places, and the next one that gets free to whoever has waited longest. */
export class TurnQueue {
  private readonly placesMax: number
  private taken = 0
  /** In the order of their coming, which a set keeps. */
  private readonly waiters = new Set<Waiter>()

  constructor(placesMax: number) {
    this.placesMax = placesMax
  }

  get takenPlaces(): number {
    return this.taken
  }

  get waiting(): number {
    return this.waiters.size
  }

  /** True where a place was free; it isn't while somebody waits. */
  take(): boolean {
    if (this.taken >= this.placesMax) return false
    this.taken++
    return true
  }

  wait(waiter: Waiter): void {
    this.waiters.add(waiter)
  }

  /** Waits no longer. */
  forget(waiter: Waiter): void {
    this.waiters.delete(waiter)
  }

  /** A place is free: it passes to the first who waits. */
  release(): void {
    const [first] = this.waiters
    if (first === undefined) {
      this.taken--
      return
    }
    this.waiters.delete(first)
    first.granted()
  }
}
