import type { Decimal } from "decimal.js"
import {
  arcCosine,
  arcSine,
  arcTangent,
  arcTangentOf,
  cosine,
  degrees,
  exponential,
  hyperbolicCosine,
  hyperbolicSine,
  hyperbolicTangent,
  logarithm,
  naturalLogarithm,
  radians,
  sine,
  tangent
} from "./Analysis.ts"
import { refuse } from "./ExpressionError.ts"
import { cubeRoot, power, squareRoot } from "./Powers.ts"
import {
  add,
  cleaned,
  compare,
  digitsMax,
  divide,
  Exact,
  exactly,
  modulo,
  multiply,
  type Quantity,
  roundedDigits,
  settle
} from "./Quantity.ts"
import {
  combinations,
  factorial,
  greatestCommonDivisor,
  leastCommonMultiple,
  permutations
} from "./WholeNumbers.ts"

/** How much of the work that an expression may cost one call takes, about as its time grows. */
export type Work = 1 | 5 | 20

/** A function that expressions can call. */
export interface CalculatorFunction {
  readonly argumentsMin: number
  readonly argumentsMax: number
  readonly work: Work
  readonly apply: (args: ReadonlyArray<Quantity>, at: number) => Quantity
}

const unary = (work: Work, apply: (of: Quantity, at: number) => Quantity): CalculatorFunction => ({
  argumentsMin: 1,
  argumentsMax: 1,
  work,
  apply: ([of = exactly(0)], at) => apply(of, at)
})

const binary = (
  work: Work,
  apply: (left: Quantity, right: Quantity, at: number) => Quantity
): CalculatorFunction => ({
  argumentsMin: 2,
  argumentsMax: 2,
  work,
  apply: ([left = exactly(0), right = exactly(0)], at) => apply(left, right, at)
})

const variadic = (
  work: Work,
  apply: (args: ReadonlyArray<Quantity>, at: number) => Quantity
): CalculatorFunction => ({ argumentsMin: 1, argumentsMax: Infinity, work, apply })

/** A function to whole numbers. What it gives is exact unless the digits before the point are rounded already. */
const toWhole = (round: (value: Decimal) => Decimal) =>
  unary(1, (of, at) => {
    const isReliable = of.isExact || of.value.e < roundedDigits / 2
    return settle(round(cleaned(of)), isReliable, at)
  })

const sum = (args: ReadonlyArray<Quantity>, at: number): Quantity =>
  args.reduce((left, right) => add(left, right, at), exactly(0))

const mean = (args: ReadonlyArray<Quantity>, at: number): Quantity =>
  divide(sum(args, at), exactly(args.length), at)

const median = (args: ReadonlyArray<Quantity>, at: number): Quantity => {
  const sorted = args.toSorted(compare)
  const half = Math.floor(sorted.length / 2)
  return mean(sorted.slice(sorted.length % 2 === 0 ? half - 1 : half, half + 1), at)
}

/** The argument that stands before all others when they are compared so. */
const first = (isBefore: (left: Quantity, right: Quantity) => boolean) =>
  variadic(1, (args) => args.reduce((best, arg) => (isBefore(arg, best) ? arg : best)))

const roundTo = (of: Quantity, places: Quantity, at: number): Quantity => {
  const count = cleaned(places)
  if (!count.isInteger() || count.abs().gt(digitsMax)) {
    return refuse(at, `round takes a whole number of decimal places from -${digitsMax} to ${digitsMax}`)
  }
  const shifted = Exact.mul(cleaned(of), `1e${count.toFixed()}`)
  return settle(shifted.round().times(`1e${count.negated().toFixed()}`), true, at)
}

const average = variadic(1, mean)

/** Every function, by its name in small letters. */
export const functions: ReadonlyMap<string, CalculatorFunction> = new Map<string, CalculatorFunction>([
  ["sqrt", unary(5, squareRoot)],
  ["cbrt", unary(5, cubeRoot)],
  ["abs", unary(1, ({ isExact, value }) => ({ isExact, value: value.abs() }))],
  ["sign", unary(1, ({ value }) => exactly(value.isZero() ? 0 : value.s))],
  ["floor", toWhole((value) => value.floor())],
  ["ceil", toWhole((value) => value.ceil())],
  ["trunc", toWhole((value) => value.trunc())],
  [
    "round",
    {
      argumentsMin: 1,
      argumentsMax: 2,
      work: 1,
      apply: ([of = exactly(0), places = exactly(0)], at) => roundTo(of, places, at)
    }
  ],
  ["min", first((left, right) => compare(left, right) < 0)],
  ["max", first((left, right) => compare(left, right) > 0)],
  ["sum", variadic(1, sum)],
  ["mean", average],
  ["average", average],
  ["avg", average],
  ["median", variadic(1, median)],
  [
    "log",
    {
      argumentsMin: 1,
      argumentsMax: 2,
      work: 20,
      apply: ([of = exactly(0), base = exactly(10)], at) => logarithm(of, base, at)
    }
  ],
  ["ln", unary(20, naturalLogarithm)],
  ["log2", unary(20, (of, at) => logarithm(of, exactly(2), at))],
  ["log10", unary(20, (of, at) => logarithm(of, exactly(10), at))],
  ["exp", unary(20, exponential)],
  ["pow", binary(20, power)],
  ["mod", binary(1, modulo)],
  ["gcd", variadic(5, greatestCommonDivisor)],
  ["lcm", variadic(5, leastCommonMultiple)],
  ["factorial", unary(5, factorial)],
  ["ncr", binary(20, combinations)],
  ["npr", binary(5, permutations)],
  ["sin", unary(20, sine)],
  ["cos", unary(20, cosine)],
  ["tan", unary(20, tangent)],
  ["asin", unary(20, arcSine)],
  ["acos", unary(20, arcCosine)],
  ["atan", unary(20, arcTangent)],
  ["atan2", binary(20, arcTangentOf)],
  ["sinh", unary(20, hyperbolicSine)],
  ["cosh", unary(20, hyperbolicCosine)],
  ["tanh", unary(20, hyperbolicTangent)],
  [
    "hypot",
    variadic(5, (args, at) =>
      squareRoot(
        sum(
          args.map((arg) => multiply(arg, arg, at)),
          at
        ),
        at
      )
    )
  ],
  ["degrees", unary(1, degrees)],
  ["radians", unary(1, radians)]
])
