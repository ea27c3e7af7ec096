import { quantile } from "./statistics.ts"

const reasonsMax = 8

/** Counts of a load. */
export interface Counts {
  readonly whole: number
  /** Deltas of all streams. */
  readonly deltas: number
  /** 99th percentile of the gaps between the deltas of a stream. */
  readonly gapMs: number
  /**
   * Median of the way to the model server and back, without the time spent there; NaN without stamped
   * answers.
   */
  readonly addedMs: number
  readonly seconds: number
}

/** Counts what comes in. */
export class Tally {
  private readonly since = performance.now()
  private whole = 0
  private deltas = 0
  private readonly gaps: Array<number> = []
  private readonly added: Array<number> = []
  private readonly broken = new Map<string, number>()

  /** Notes a delta, and the time since the one before; null for the first of its stream. */
  delta(gapMs: number | null): void {
    this.deltas++
    if (gapMs !== null) this.gaps.push(gapMs)
  }

  stamped(addedMs: number): void {
    this.added.push(addedMs)
  }

  /** Notes the end of an answer, with the reason if it isn't whole. */
  end(problem: string | null): void {
    if (problem === null) this.whole++
    else if (this.broken.size < reasonsMax || this.broken.has(problem)) {
      this.broken.set(problem, (this.broken.get(problem) ?? 0) + 1)
    }
  }

  /** Fails if an answer was refused, cut, or not what the contract says. */
  counts(): Counts {
    const { added, broken, deltas, gaps, since, whole } = this
    const reasons = [...broken].map(([problem, count]) => `${count} × ${problem}`)
    if (reasons.length > 0) throw new Error(`${reasons.join("; ")} (${whole} were whole)`)
    const seconds = (performance.now() - since) / 1000
    return { whole, deltas, gapMs: quantile(gaps, 0.99), addedMs: quantile(added, 0.5), seconds }
  }
}
