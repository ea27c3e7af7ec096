/**
 * A fraction, to check results with: its arithmetic shares nothing with the calculator's. `below` is above
 * zero.
 */
export interface Rational {
  readonly above: bigint
  readonly below: bigint
}

const positive = (value: bigint): bigint => (value < 0n ? -value : value)

export const rational = (above: bigint, below = 1n): Rational =>
  below < 0n ? { above: -above, below: -below } : { above, below }

/** The value of the text of a number, such as -12.5 or 1.5e-21. */
export const rationalOf = (text: string): Rational => {
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(text) ?? []
  if (whole === undefined) throw new Error(`${text} is no number.`)
  const above = BigInt(`${sign}${whole}${fraction}`)
  const power = Number(exponent) - fraction.length
  return power < 0 ? rational(above, 10n ** BigInt(-power)) : rational(above * 10n ** BigInt(power))
}

export const plus = (left: Rational, right: Rational): Rational =>
  rational(left.above * right.below + right.above * left.below, left.below * right.below)

export const minus = (left: Rational, right: Rational): Rational =>
  plus(left, { above: -right.above, below: right.below })

export const times = (left: Rational, right: Rational): Rational =>
  rational(left.above * right.above, left.below * right.below)

/** Null for a division by zero. */
export const over = (left: Rational, right: Rational): Rational | null =>
  right.above === 0n ? null : rational(left.above * right.below, left.below * right.above)

/** Below, at or above zero as the left one is below, at or above the right one. */
export const order = (left: Rational, right: Rational): number => {
  const { above } = minus(left, right)
  return above < 0n ? -1 : Number(above > 0n)
}

/** True if the result differs from the true value by no more than the 34th significant digit. */
export const isRightTo34Digits = (result: Rational, truth: Rational): boolean => {
  const difference = minus(result, truth)
  return positive(difference.above) * truth.below * 10n ** 33n <= positive(truth.above) * difference.below
}
