import type { Decimal } from "decimal.js"
import { refuse } from "./ExpressionError.ts"
import {
  cleaned,
  divide,
  Exact,
  exactly,
  exponentMax,
  type Quantity,
  Rounded,
  roundedDigits,
  settle
} from "./Quantity.ts"

/** Angles beyond 1e100 have no digits left that would tell their place on the circle. */
const angleExponentMax = 100
/** The powers of e beyond it are out of bounds. */
const naturalExponentMax = Math.ceil((exponentMax + 1) * Math.LN10)
/** A sine that is smaller, compared to its angle, is what is left of zero when the angle was rounded. */
const noise = "1e-45"

const rounded = (value: Decimal.Value): Quantity => ({ value: new Exact(value), isExact: false })

export const constants: Readonly<Record<string, Quantity>> = (() => {
  const pi = rounded(Rounded.acos(-1))
  const tau = rounded(Rounded.mul(pi.value, 2))
  const phi = rounded(Rounded.sqrt(5).plus(1).div(2))
  return { pi, π: pi, e: rounded(Rounded.exp(1)), tau, τ: tau, phi, φ: phi }
})()

const pi = Rounded.acos(-1)

export const radians = (degrees: Quantity, at: number): Quantity =>
  settle(Rounded.mul(degrees.value, pi).div(180), degrees.value.isZero(), at)

export const degrees = (angle: Quantity, at: number): Quantity =>
  settle(Rounded.mul(angle.value, 180).div(pi), angle.value.isZero(), at)

const circular = (angle: Quantity, find: (angle: Decimal) => Decimal, at: number): Decimal => {
  if (angle.value.e > angleExponentMax) {
    return refuse(at, `the angle is too large; the largest is 1e${angleExponentMax}`)
  }
  // More digits than the fraction of a turn can need would only cost time, and the library refuses very many.
  const digits = roundedDigits + Math.max(angle.value.e, 0) + 10
  const found = find(angle.value.toSignificantDigits(digits))
  return !angle.isExact && found.abs().lt(angle.value.abs().times(noise)) ? new Exact(0) : found
}

export const sine = (angle: Quantity, at: number): Quantity =>
  settle(
    circular(angle, (value) => Rounded.sin(value), at),
    false,
    at
  )

export const cosine = (angle: Quantity, at: number): Quantity =>
  settle(
    circular(angle, (value) => Rounded.cos(value), at),
    false,
    at
  )

export const tangent = (angle: Quantity, at: number): Quantity => {
  const below = cosine(angle, at)
  if (below.value.isZero()) return refuse(at, "the tangent of a right angle is not defined")
  return divide(sine(angle, at), below, at)
}

/** A sine or cosine, whose angle is asked for. */
const ratioOf = (quantity: Quantity, name: string, at: number): Decimal => {
  // Close to 1 the angle shows what roundings have left of the ratio.
  const ratio = cleaned(quantity)
  if (ratio.abs().lt(1)) return quantity.value
  return ratio.abs().eq(1) ? ratio : refuse(at, `${name} takes a number from -1 to 1`)
}

export const arcSine = (ratio: Quantity, at: number): Quantity =>
  settle(Rounded.asin(ratioOf(ratio, "asin", at)), false, at)

export const arcCosine = (ratio: Quantity, at: number): Quantity =>
  settle(Rounded.acos(ratioOf(ratio, "acos", at)), false, at)

export const arcTangent = ({ value }: Quantity, at: number): Quantity =>
  settle(Rounded.atan(value), false, at)

export const arcTangentOf = (y: Quantity, x: Quantity, at: number): Quantity =>
  settle(Rounded.atan2(y.value, x.value), false, at)

export const exponential = ({ value }: Quantity, at: number): Quantity => {
  if (value.isZero()) return exactly(1)
  if (value.gt(naturalExponentMax)) return settle(new Exact(Infinity), false, at)
  if (value.lt(-naturalExponentMax)) return settle(new Exact(`1e-${2 * exponentMax}`), false, at)
  return settle(Rounded.exp(value), false, at)
}

/** Half of e^x + e^-x or of e^x - e^-x. */
const hyperbolic = (of: Quantity, sign: 1 | -1, at: number): Quantity => {
  const grown = exponential({ ...of, value: of.value.abs() }, at).value
  const half = Rounded.add(grown, Rounded.div(sign, grown)).div(2)
  return settle(sign < 0 && of.value.isNegative() ? half.negated() : half, false, at)
}

export const hyperbolicCosine = (of: Quantity, at: number): Quantity => hyperbolic(of, 1, at)

export const hyperbolicSine = (of: Quantity, at: number): Quantity =>
  // The difference of two numbers close to 1 would lose its digits.
  of.value.abs().lt(1) ? settle(Rounded.sinh(of.value), false, at) : hyperbolic(of, -1, at)

export const hyperbolicTangent = (of: Quantity, at: number): Quantity =>
  // Beyond it, no digit differs from 1.
  of.value.abs().gt(100)
    ? settle(new Exact(of.value.s), false, at)
    : divide(hyperbolicSine(of, at), hyperbolicCosine(of, at), at)

/** The natural logarithm, not yet settled. */
const naturalOf = (of: Quantity, at: number): Decimal => {
  if (of.value.lte(0)) return refuse(at, "logarithms take numbers above 0 only")
  // Close to 1 the logarithm shows what roundings have left of the number.
  return Rounded.ln(cleaned(of).eq(1) ? 1 : of.value)
}

export const naturalLogarithm = (of: Quantity, at: number): Quantity => settle(naturalOf(of, at), false, at)

export const logarithm = (of: Quantity, base: Quantity, at: number): Quantity => {
  const below = naturalOf(base, at)
  if (below.isZero()) return refuse(at, "there is no logarithm to the base of 1")
  return settle(naturalOf(of, at).div(below), false, at)
}
