import { Decimal } from "decimal.js"
import { refuse } from "./ExpressionError.ts"

/** Significant digits of an exact number; one that needs more is rounded, if it is no whole number. */
export const digitsMax = 1_000
/** The powers of ten between which a number lies: 1e-1000 to 1e1000. */
export const exponentMax = 1_000
/** Significant digits that a rounded number is calculated with. More of them are right than are ever shown. */
export const roundedDigits = 60
/** Significant digits of a rounded number that later roundings can't have spoilt. */
const reliableDigits = 45

/** Sums and products of exact numbers are exact in it: it takes the digits from the greatest to the smallest power of ten. */
export const Exact = Decimal.clone({
  precision: 2 * (digitsMax + exponentMax) + 10,
  rounding: Decimal.ROUND_HALF_UP,
  modulo: Decimal.ROUND_FLOOR
})
export const Rounded = Decimal.clone({ precision: roundedDigits, rounding: Decimal.ROUND_HALF_UP })
const Quotient = Decimal.clone({ precision: digitsMax, rounding: Decimal.ROUND_HALF_UP })

/** A number, and whether it is the very number that was meant. */
export interface Quantity {
  readonly value: Decimal
  readonly isExact: boolean
}

export const exactly = (value: Decimal.Value): Quantity => ({ value: new Exact(value), isExact: true })

/** A result within its bounds: not too large, not too close to zero, rounded where it has too many digits. */
export const settle = (value: Decimal, isExact: boolean, at: number): Quantity => {
  if (value.isNaN()) return refuse(at, "the result is no real number")
  if (!value.isFinite() || value.e >= exponentMax) {
    return refuse(at, `the number is too large; it may have at most ${digitsMax} digits`)
  }
  if (value.isZero()) return { value: new Exact(0), isExact }
  if (value.e < -exponentMax) {
    return refuse(at, `the number is too close to zero; the closest is 1e-${exponentMax}`)
  }
  if (isExact && value.sd() <= digitsMax) return { value: new Exact(value), isExact }
  return { value: new Exact(value.toSignificantDigits(roundedDigits)), isExact: false }
}

/** The number without the traces of earlier roundings: 2.999… with 60 nines is 3. */
export const cleaned = ({ isExact, value }: Quantity): Decimal =>
  isExact ? value : value.toSignificantDigits(reliableDigits)

export const negate = ({ isExact, value }: Quantity): Quantity => ({ value: value.negated(), isExact })

const sumOf = (left: Quantity, right: Quantity): Decimal => {
  const sum = Exact.add(left.value, right.value)
  if (left.isExact && right.isExact) return sum
  // What is left of two rounded numbers that are all but equal is only what the roundings got wrong.
  const noise = Exact.max(left.value.abs(), right.value.abs()).times(`1e-${reliableDigits}`)
  return sum.abs().lt(noise) ? new Exact(0) : sum
}

export const add = (left: Quantity, right: Quantity, at: number): Quantity =>
  settle(sumOf(left, right), left.isExact && right.isExact, at)

export const subtract = (left: Quantity, right: Quantity, at: number): Quantity =>
  add(left, negate(right), at)

export const multiply = (left: Quantity, right: Quantity, at: number): Quantity =>
  settle(Exact.mul(left.value, right.value), left.isExact && right.isExact, at)

export const divide = (left: Quantity, right: Quantity, at: number): Quantity => {
  if (right.value.isZero()) return refuse(at, "division by zero")
  const rounded = Rounded.div(left.value, right.value)
  if (!left.isExact || !right.isExact) return settle(rounded, false, at)
  const isWhole = (quotient: Decimal) => Exact.mul(quotient, right.value).eq(left.value)
  if (isWhole(rounded)) return settle(rounded, true, at)
  const isLong = left.value.sd() + right.value.sd() > roundedDigits / 2
  const quotient = isLong ? Quotient.div(left.value, right.value) : rounded
  return settle(quotient, isLong && isWhole(quotient), at)
}

/** The remainder, with the sign of the divisor, as in mathematics: -7 mod 3 is 2. */
export const modulo = (left: Quantity, right: Quantity, at: number): Quantity => {
  if (right.value.isZero()) return refuse(at, "division by zero")
  return settle(Exact.mod(cleaned(left), cleaned(right)), left.isExact && right.isExact, at)
}

/** Below, at or above zero as `left` is below, at or above `right`. Rounded numbers are equal when all reliable digits are. */
export const compare = (left: Quantity, right: Quantity): number => {
  const difference = sumOf(left, negate(right))
  return difference.isZero() ? 0 : difference.s
}
