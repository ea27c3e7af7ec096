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
