import type { Decimal } from "decimal.js"
import { refuse } from "./ExpressionError.ts"
import {
  cleaned,
  digitsMax,
  divide,
  Exact,
  exactly,
  exponentMax,
  type Quantity,
  Rounded,
  roundedDigits,
  settle
} from "./Quantity.ts"

/** The exponents that are counted as whole numbers: those that a double holds exactly. */
const wholeExponentMax = Number.MAX_SAFE_INTEGER

/** Digits of a root that is looked for exactly; the time for longer ones grows fast. */
const exactRootDigitsMax = 200

/** The decimal logarithm of a number that isn't zero, as near as a double gets. */
const magnitudeOf = (value: Decimal): number => {
  const mantissa = value.abs().toSignificantDigits(16).toExponential().replace(/e.*/, "")
  return value.e + Math.log10(Number(mantissa))
}

/** The decimal logarithm of the whole number that the digits form. */
const coefficientMagnitudeOf = (value: Decimal): number => magnitudeOf(value) - value.e + value.sd() - 1

/** Whether the power of an exact number has few enough digits to be counted out. */
const isShort = (base: Decimal, exponent: number): boolean =>
  coefficientMagnitudeOf(base) * exponent < digitsMax + 1

/** Refuses a power that is out of bounds before any work is done for it. */
const checkMagnitude = (base: Decimal, exponent: Decimal, at: number): void => {
  const magnitude = exponent.toNumber() * magnitudeOf(base)
  if (magnitude > exponentMax + 1) settle(new Exact(Infinity), false, at)
  if (magnitude < -exponentMax - 1) settle(new Exact(`1e-${2 * exponentMax}`), false, at)
}

const powerOfWhole = (base: Quantity, exponent: Decimal, at: number): Quantity => {
  const times = exponent.abs().toNumber()
  if (!base.isExact || !isShort(base.value, times)) {
    return settle(Rounded.pow(base.value, exponent), false, at)
  }
  const power = Exact.pow(base.value, times)
  return exponent.isNegative() ? divide(exactly(1), exactly(power), at) : settle(power, true, at)
}

export const power = (base: Quantity, exponent: Quantity, at: number): Quantity => {
  const times = cleaned(exponent)
  if (times.isZero()) return exactly(1)
  if (base.value.isZero()) {
    return times.isNegative() ? refuse(at, "division by zero: zero has no negative power") : base
  }
  checkMagnitude(base.value, times, at)
  if (times.isInteger() && times.abs().lte(wholeExponentMax)) return powerOfWhole(base, times, at)
  if (base.value.isNegative() && !times.isInteger()) {
    return refuse(
      at,
      "a negative number has no real power with a fraction in its exponent; for roots there are sqrt and cbrt"
    )
  }
  if (times.eq(0.5)) return squareRoot(base, at)
  const result = Rounded.pow(base.value, times)
  // The library gives zero or infinity where the exponent of its result is out of bounds.
  return settle(result.isZero() ? new Exact(`1e-${2 * exponentMax}`) : result, false, at)
}

/** The root that `find` finds, exact where it is. `degree` is 2 for square roots. */
const root = (
  { isExact, value }: Quantity,
  degree: number,
  find: (value: Decimal, precision: typeof Rounded) => Decimal,
  at: number
): Quantity => {
  const digits = Math.ceil(value.sd() / degree) + 1
  const isLong = digits > roundedDigits && digits <= exactRootDigitsMax
  const found = find(value, isLong ? Rounded.clone({ precision: digits }) : Rounded)
  return settle(found, isExact && Exact.pow(found, degree).eq(value), at)
}

export const squareRoot = (of: Quantity, at: number): Quantity =>
  of.value.isNegative() && !of.value.isZero()
    ? refuse(at, "the square root of a negative number is no real number")
    : root(of, 2, (value, precision) => precision.sqrt(value), at)

export const cubeRoot = (of: Quantity, at: number): Quantity =>
  root(of, 3, (value, precision) => precision.cbrt(value), at)
