/** What one user has, or waits to have, of something that users share. */
export interface Claim {
  readonly user: string
  amount: number
  state: "waiting" | "held" | "ended"
  /** Called once when a claim that waited is held. */
  onHeld: () => void
}

/**
 * Shares out an amount of something: so much in all, and so much to one user. A claim that finds no room waits; users take
 * turns, and the claims of one user are met in their order.
 */
export class UserShares {
  private readonly totalMax: number
  private readonly perUserMax: number
  private total = 0
  private readonly held = new Map<string, number>()
  /** Whose turn is next is first. No line is empty. */
  private readonly lines = new Map<string, Set<Claim>>()

  constructor(limits: { readonly totalMax: number; readonly perUserMax: number }) {
    this.totalMax = limits.totalMax
    this.perUserMax = Math.min(limits.perUserMax, limits.totalMax)
  }

  /** Claims that the user waits for. */
  waitingOf(user: string): number {
    return this.lines.get(user)?.size ?? 0
  }

  /** Whether the user could have so much more, were it not for the others. */
  isWithinOwn(user: string, amount: number): boolean {
    return (this.held.get(user) ?? 0) + amount <= this.perUserMax
  }

  /** Claims an amount; more than a user may have is as much as a user may have. */
  claim(user: string, wanted: number): Claim {
    const amount = Math.min(wanted, this.perUserMax)
    const claim: Claim = { user, amount, state: "waiting", onHeld: () => {} }
    const line = this.lines.get(user)
    if (line !== undefined) line.add(claim)
    else if (this.fits(claim)) this.hold(claim)
    else this.lines.set(user, new Set([claim]))
    return claim
  }

  /** A held claim turned out to need less. */
  reduce(claim: Claim, amount: number): void {
    if (claim.state !== "held" || amount >= claim.amount) return
    this.giveBack(claim, claim.amount - amount)
    claim.amount = amount
    this.grant()
  }

  /** Gives back what is held, or waits no longer. A second time changes nothing. */
  end(claim: Claim): void {
    if (claim.state === "ended") return
    if (claim.state === "held") this.giveBack(claim, claim.amount)
    else this.leave(claim)
    claim.state = "ended"
    this.grant()
  }

  private fits({ amount, user }: Claim): boolean {
    return this.total + amount <= this.totalMax && this.isWithinOwn(user, amount)
  }

  private hold(claim: Claim): void {
    claim.state = "held"
    this.total += claim.amount
    this.held.set(claim.user, (this.held.get(claim.user) ?? 0) + claim.amount)
  }

  private giveBack({ user }: Claim, amount: number): void {
    this.total -= amount
    const left = (this.held.get(user) ?? 0) - amount
    if (left > 0) this.held.set(user, left)
    else this.held.delete(user)
  }

  private leave(claim: Claim): void {
    const line = this.lines.get(claim.user)
    line?.delete(claim)
    if (line?.size === 0) this.lines.delete(claim.user)
  }

  /** Meets the claims that there is room for, one of each user at a time. */
  private grant(): void {
    for (const [user, line] of this.lines) {
      const [claim] = line
      if (claim === undefined || !this.fits(claim)) continue
      this.leave(claim)
      // The user's next claim comes after one of every other user: the loop gets there again.
      if (this.lines.delete(user)) this.lines.set(user, line)
      this.hold(claim)
      claim.onHeld()
    }
  }
}
