/** Numbers in, numbers out: what the benchmark says about its samples. */

/** The value below which `share` (0..1) of the samples lie; NaN for no samples. */
export const quantile = (samples: ArrayLike<number>, share: number): number => {
  const sorted = Float64Array.from(samples).sort()
  if (sorted.length === 0) return Number.NaN
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)] ?? Number.NaN
  const above = sorted[Math.ceil(position)] ?? Number.NaN
  return below + (above - below) * (position - Math.floor(position))
}

export const median = (samples: ArrayLike<number>): number => quantile(samples, 0.5)

/** A list of numbers without a boxed value per sample, for a hundred thousand gaps. */
export class Samples {
  private values = new Float64Array(1024)
  private count = 0

  add(value: number): void {
    if (this.count === this.values.length) {
      const wider = new Float64Array(this.count * 2)
      wider.set(this.values)
      this.values = wider
    }
    this.values[this.count++] = value
  }

  clear(): void {
    this.count = 0
  }

  summary(): Summary {
    const values = this.values.subarray(0, this.count)
    return {
      count: this.count,
      p50: quantile(values, 0.5),
      p90: quantile(values, 0.9),
      p99: quantile(values, 0.99)
    }
  }
}

/** Quantiles of some samples, in the unit of the samples; NaN when there is none. */
export interface Summary {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
}
