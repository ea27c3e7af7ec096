import { refuse } from "./ExpressionError.ts"
import { cleaned, digitsMax, exactly, exponentMax, type Quantity, settle, Exact } from "./Quantity.ts"

/** 449! has 998 digits, 450! has 1,001. */
const factorialMax = 449
/** No binomial coefficient needs more factors before it has more digits than a number may have: each at least doubles it. */
const binomialFactorsMax = Math.ceil(digitsMax * Math.log2(10))
const tooLarge = 10n ** BigInt(exponentMax)

const wholeOf = (quantity: Quantity, name: string, at: number): bigint => {
  const value = cleaned(quantity)
  return value.isInteger() ? BigInt(value.toFixed()) : refuse(at, `${name} takes whole numbers only`)
}

const countOf = (quantity: Quantity, name: string, at: number): bigint => {
  const count = wholeOf(quantity, name, at)
  return count >= 0n ? count : refuse(at, `${name} takes no negative numbers`)
}

const quantityOf = (whole: bigint, at: number): Quantity =>
  whole >= tooLarge ? settle(new Exact(Infinity), true, at) : exactly(whole.toString())

export const factorial = (quantity: Quantity, at: number): Quantity => {
  const count = countOf(quantity, "the factorial", at)
  if (count > factorialMax) {
    return refuse(
      at,
      `the factorial is too large; the largest within ${digitsMax} digits is ${factorialMax}!`
    )
  }
  let product = 1n
  for (let factor = 2n; factor <= count; factor++) product *= factor
  return quantityOf(product, at)
}

/** How many ways there are to choose `chosen` of `from`, in any order. */
export const combinations = (from: Quantity, chosen: Quantity, at: number): Quantity => {
  const all = countOf(from, "nCr", at)
  const some = countOf(chosen, "nCr", at)
  if (some > all) return exactly(0)
  const factors = some > all - some ? all - some : some
  if (factors > binomialFactorsMax) return quantityOf(tooLarge, at)
  let product = 1n
  for (let index = 0n; index < factors && product < tooLarge; index++) {
    product = (product * (all - index)) / (index + 1n)
  }
  return quantityOf(product, at)
}

/** How many ways there are to choose `chosen` of `from`, in order. */
export const permutations = (from: Quantity, chosen: Quantity, at: number): Quantity => {
  const all = countOf(from, "nPr", at)
  const some = countOf(chosen, "nPr", at)
  if (some > all) return exactly(0)
  let product = 1n
  // Ends soon: the product is too large after a few hundred factors.
  for (let index = 0n; index < some && product < tooLarge; index++) product *= all - index
  return quantityOf(product, at)
}

const divisorOf = (left: bigint, right: bigint): bigint => {
  let [greater, smaller] = [left, right]
  while (smaller !== 0n) [greater, smaller] = [smaller, greater % smaller]
  return greater < 0n ? -greater : greater
}

const multipleOf = (left: bigint, right: bigint): bigint => {
  if (left === 0n || right === 0n) return 0n
  const multiple = (left / divisorOf(left, right)) * right
  return multiple < 0n ? -multiple : multiple
}

export const greatestCommonDivisor = (args: ReadonlyArray<Quantity>, at: number): Quantity =>
  quantityOf(
    args.map((arg) => wholeOf(arg, "gcd", at)).reduce((left, right) => divisorOf(left, right), 0n),
    at
  )

export const leastCommonMultiple = (args: ReadonlyArray<Quantity>, at: number): Quantity =>
  args.reduce(
    (left, right) => quantityOf(multipleOf(wholeOf(left, "lcm", at), wholeOf(right, "lcm", at)), at),
    exactly(1)
  )
