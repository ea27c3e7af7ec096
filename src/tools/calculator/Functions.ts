import { Decimal } from "decimal.js"

/**
 * Significant digits of an exact number, and the powers of ten between which all numbers lie: 1e-1000 to
 * 1e1000.
 */
export const digitsMax = 1_000
/**
 * Significant digits that rounded numbers are calculated with, and those that later roundings can't have
 * spoiled.
 */
const roundedDigits = 60
const reliableDigits = 45
/** Angles beyond 1e100 have no digits left that tell their place on the circle. */
const angleExponentMax = 100
/** Beyond them, sinh and cosh are beyond 1e1000, and no digit of tanh differs from 1. */
const [hyperbolicMax, tanhMax] = [2_400, 100]

const rounding = Decimal.ROUND_HALF_UP
/**
 * The class of exact numbers, which holds all digits of sums and products. Numbers of other classes are
 * rounded.
 */
export const Exact = Decimal.clone({ precision: 2 * digitsMax + 10, rounding, modulo: Decimal.ROUND_FLOOR })
const Rounded = Decimal.clone({ precision: roundedDigits, rounding })
/** Longer roots and those of longer squares are rounded: finding the exact ones would take too long. */
const Root = Decimal.clone({ precision: 200, rounding })
const squareDigitsMax = 400

const [zero, one, two, ten] = [new Exact(0), new Exact(1), new Exact(2), new Exact(10)]
const [undefinedResult, beyondRange] = [new Rounded(NaN), new Exact(`1e${2 * digitsMax}`)]

export const isExact = (x: Decimal): boolean => x.constructor === Exact
const common = (x: Decimal, y: Decimal) => (isExact(x) && isExact(y) ? Exact : Rounded)
/** The number without the traces of earlier roundings: 2.999… with 60 nines is 3. */
const cleaned = (x: Decimal) => (isExact(x) ? x : x.toSignificantDigits(reliableDigits))
/** A result below this noise, calculated from a rounded number of that size, is zero but for roundings. */
const noiseOf = (x: Decimal) => x.abs().times(`1e-${reliableDigits}`)
/** Rounds what is not exact or has too many digits. */
export const settle = (x: Decimal): Decimal =>
  isExact(x) && x.sd() <= digitsMax ? x : new Rounded(x).toSignificantDigits(roundedDigits)

const add = (x: Decimal, y: Decimal): Decimal => {
  const sum = common(x, y).add(x, y)
  return isExact(sum) || sum.abs().gte(noiseOf(Decimal.max(x.abs(), y.abs()))) ? sum : zero
}
const subtract = (x: Decimal, y: Decimal) => add(x, y.negated())
const compare = (x: Decimal, y: Decimal) => Decimal.sign(subtract(x, y))
const multiply = (x: Decimal, y: Decimal) => common(x, y).mul(x, y)
const divide = (x: Decimal, y: Decimal) => common(x, y).div(x, y)
const modulo = (x: Decimal, y: Decimal) => new (common(x, y))(Exact.mod(cleaned(x), cleaned(y)))

/**
 * More digits than the fraction of a turn can need only cost time: the library's series and roots take ever
 * longer.
 */
const shortened = (x: Decimal) => x.toSignificantDigits(angleExponentMax + roundedDigits + 10)

const root = (x: Decimal, degree: 2 | 3): Decimal => {
  const found =
    degree === 2 ? Root.sqrt(x.sd() > squareDigitsMax ? shortened(x) : x) : Root.cbrt(shortened(x))
  return isExact(x) && Exact.pow(found, degree).eq(x) ? new Exact(found) : found
}

const power = (base: Decimal, exponent: Decimal): Decimal => {
  const times = cleaned(exponent)
  if (times.isZero()) return one
  if (base.isZero()) return times.lt(0) ? undefinedResult : base
  // A result out of bounds is known before any work is done for it.
  const magnitude = times.toNumber() * (base.e + Math.log10(base.abs().times(`1e${-base.e}`).toNumber()))
  if (Math.abs(magnitude) > digitsMax + 1) return beyondRange.pow(Math.sign(magnitude))
  if (times.eq(0.5)) return root(base, 2)
  const [factor, count] = times.lt(0) ? [divide(one, base), times.negated()] : [base, times]
  const isShort = count.isInteger() && count.lte(4 * digitsMax) && count.times(factor.sd() - 1).lte(digitsMax)
  return isExact(factor) && isShort ? Exact.pow(factor, count) : Rounded.pow(base, times)
}

const [pi, e, phi] = [Rounded.acos(-1), Rounded.exp(1), Rounded.sqrt(5).plus(1).div(2)]
const tau = pi.times(2)
export const constants = new Map(Object.entries({ pi, π: pi, e, tau, τ: tau, phi, φ: phi }))

const circular = (name: "sin" | "cos", angle: Decimal): Decimal => {
  if (angle.e > angleExponentMax) return undefinedResult
  const found = Rounded[name](shortened(angle))
  return isExact(angle) || found.abs().gte(noiseOf(angle)) ? found : zero
}
const tangent = (angle: Decimal) => circular("sin", angle).div(circular("cos", angle))
/** Close to 1, angles and logarithms show what roundings have left of the number. */
const atOne = (x: Decimal) => shortened(cleaned(x).abs().eq(1) ? cleaned(x) : x)
const grown = (x: Decimal, found: () => Decimal) => (x.abs().gt(hyperbolicMax) ? beyondRange : found())
const natural = (x: Decimal) => (x.gt(0) ? Rounded.ln(atOne(x)) : undefinedResult)
const logarithm = (x: Decimal, base = ten) => natural(x).div(natural(base))

/** A whole number is exact unless the digits before the point are rounded already. */
const whole = (x: Decimal) => (x.e < roundedDigits / 2 ? new Exact(x) : x)
const round = (x: Decimal, places = zero): Decimal => {
  const count = cleaned(places)
  if (!count.isInteger() || count.abs().gt(digitsMax)) return undefinedResult
  return new Exact(cleaned(x)).toNearest(`1e${count.negated().toFixed()}`)
}

const tooLarge = 10n ** BigInt(digitsMax)
/** Applies a function to the absolute values of whole numbers. */
const ofWhole = (values: ReadonlyArray<Decimal>, find: (values: ReadonlyArray<bigint>) => bigint) => {
  const found = values.map(cleaned)
  if (!found.every((value) => value.isInteger())) return undefinedResult
  return new Exact(`${find(found.map((value) => BigInt(value.abs().toFixed())))}`)
}
const divisor = (x: bigint, y: bigint): bigint => (y === 0n ? x : divisor(y, x % y))
const multiple = (x: bigint, y: bigint) => (x === 0n || x > tooLarge ? x : (x / divisor(x, y)) * y)
/**
 * Returns the number of ways to choose `some` of `all`. Ends soon: the product leaves the range of numbers.
 */
const choices = (all: Decimal, some: Decimal, isOrdered: boolean): Decimal => {
  if (all.lt(0) || some.lt(0)) return undefinedResult
  return ofWhole([all, some], ([from = 0n, chosen = 0n]) => {
    const count = !isOrdered && chosen <= from && chosen > from - chosen ? from - chosen : chosen
    let product = 1n
    for (let index = 0n; index < count && product > 0n && product < tooLarge; index++) {
      product = (product * (from - index)) / (isOrdered ? 1n : index + 1n)
    }
    return product
  })
}

const sum = (...values: ReadonlyArray<Decimal>) => values.reduce(add)
const mean = (...values: ReadonlyArray<Decimal>) => divide(sum(...values), new Exact(values.length))
const median = (...values: ReadonlyArray<Decimal>) => {
  const middle = (values.length - 1) / 2
  return mean(...values.toSorted(compare).slice(Math.floor(middle), Math.ceil(middle) + 1))
}

const divisionByZero = "division by zero"
const noPower = `a negative number has no real power with a fraction in its exponent (for roots there is cbrt), and zero no negative one: ${divisionByZero}`
const noLogarithm = "logarithms take numbers above 0 only, and there is no logarithm to the base of 1"
const largeAngle = `the angle is too large; the largest is 1e${angleExponentMax}`
const noTangent = `the tangent of a right angle is not defined, nor of angles above 1e${angleExponentMax}`
const noRatio = "the sine and the cosine of an angle are numbers from -1 to 1"
const noWhole = "this takes whole numbers only"
const noCount = `${noWhole}, and no negative numbers`
const noPlaces = `round takes a whole number of decimal places from -${digitsMax} to ${digitsMax}`

type Apply = (...values: ReadonlyArray<Decimal>) => Decimal
/**
 * Names, least and greatest number of arguments, work for each argument, and why a result may not be finite.
 */
type Row = readonly [string, number, number, number, Apply, string?]

const rows: ReadonlyArray<Row> = [
  ["sqrt √", 1, 1, 5, (x) => root(x, 2), "the square root of a negative number is no real number"],
  ["cbrt ∛", 1, 1, 20, (x) => root(x, 3)],
  ["abs", 1, 1, 1, (x) => x.abs()],
  ["sign", 1, 1, 1, (x) => new Exact(Decimal.sign(x))],
  ["floor", 1, 1, 1, (x) => whole(cleaned(x).floor())],
  ["ceil", 1, 1, 1, (x) => whole(cleaned(x).ceil())],
  ["trunc", 1, 1, 1, (x) => whole(cleaned(x).trunc())],
  ["round", 1, 2, 1, round, noPlaces],
  ["min", 1, Infinity, 1, (...values) => values.reduce((x, y) => (compare(y, x) < 0 ? y : x))],
  ["max", 1, Infinity, 1, (...values) => values.reduce((x, y) => (compare(y, x) > 0 ? y : x))],
  ["sum", 1, Infinity, 1, sum],
  ["mean average avg", 1, Infinity, 1, mean],
  ["median", 1, Infinity, 1, median],
  ["log", 1, 2, 20, logarithm, noLogarithm],
  ["ln", 1, 1, 20, natural, noLogarithm],
  ["log2", 1, 1, 20, (x) => logarithm(x, two), noLogarithm],
  ["log10", 1, 1, 20, (x) => logarithm(x), noLogarithm],
  ["exp", 1, 1, 20, (x) => power(e, x)],
  ["pow ^", 2, 2, 2.5, power, noPower],
  ["mod %", 2, 2, 0.5, modulo, divisionByZero],
  ["/", 2, 2, 0.5, divide, divisionByZero],
  ["*", 2, 2, 0.5, multiply],
  ["+", 2, 2, 0.5, add],
  ["-", 2, 2, 0.5, subtract],
  ["<=>", 2, 2, 0.5, (x, y) => new Exact(compare(x, y))],
  ["gcd", 1, Infinity, 5, (...values) => ofWhole(values, (found) => found.reduce(divisor)), noWhole],
  ["lcm", 1, Infinity, 5, (...values) => ofWhole(values, (found) => found.reduce(multiple)), noWhole],
  ["factorial !", 1, 1, 5, (x) => choices(x, x, true), noCount],
  ["ncr", 2, 2, 20, (all, some) => choices(all, some, false), noCount],
  ["npr", 2, 2, 5, (all, some) => choices(all, some, true), noCount],
  ["sin", 1, 1, 20, (x) => circular("sin", x), largeAngle],
  ["cos", 1, 1, 20, (x) => circular("cos", x), largeAngle],
  ["tan", 1, 1, 20, tangent, noTangent],
  ["asin", 1, 1, 20, (x) => Rounded.asin(atOne(x)), noRatio],
  ["acos", 1, 1, 20, (x) => Rounded.acos(atOne(x)), noRatio],
  ["atan", 1, 1, 20, (x) => Rounded.atan(shortened(x))],
  ["atan2", 2, 2, 20, (y, x) => Rounded.atan2(shortened(y), shortened(x))],
  ["sinh", 1, 1, 20, (x) => grown(x, () => Rounded.sinh(shortened(x)))],
  ["cosh", 1, 1, 20, (x) => grown(x, () => Rounded.cosh(shortened(x)))],
  ["tanh", 1, 1, 20, (x) => (x.abs().gt(tanhMax) ? new Exact(x.s) : Rounded.tanh(shortened(x)))],
  ["hypot", 1, Infinity, 5, (...values) => root(sum(...values.map((x) => multiply(x, x))), 2)],
  ["degrees", 1, 1, 1, (x) => Rounded.mul(x, 180).div(pi)],
  ["radians °", 1, 1, 1, (x) => Rounded.mul(x, pi).div(180)]
]
/** Every function and operator, by its names in small letters. */
export const operations = new Map(
  rows.flatMap((row) => row[0].split(" ").map((name) => [name, row] as const))
)
