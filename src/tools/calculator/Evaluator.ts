import { constants, radians } from "./Analysis.ts"
import { refuse } from "./ExpressionError.ts"
import { functions } from "./Functions.ts"
import { power, squareRoot, cubeRoot } from "./Powers.ts"
import {
  add,
  compare,
  digitsMax,
  divide,
  Exact,
  exactly,
  modulo,
  multiply,
  negate,
  type Quantity,
  settle,
  subtract
} from "./Quantity.ts"
import { type BinaryOperator, isPercentage, type Syntax } from "./Syntax.ts"
import { factorial } from "./WholeNumbers.ts"

/** What an expression may cost: a sum or product is 1, a power or root 5, a logarithm or sine 20, which is about a millisecond. */
export const workMax = 1_000

type Value = Quantity | boolean
type Comparison = "=" | "!=" | "<" | "<=" | ">" | ">="

const holds: Readonly<Record<Comparison, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "!=": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0
}

const isComparison = (operator: BinaryOperator): operator is Comparison => operator in holds

const hundred = exactly(100)

/** What an expression is worth: a number, or whether what it says is true. */
export const evaluate = (syntax: Syntax): Value => new Evaluator().value(syntax)

class Evaluator {
  private work = 0

  value(syntax: Syntax): Value {
    if (syntax.kind === "group") return this.value(syntax.inner)
    if (syntax.kind !== "binary" || !isComparison(syntax.operator)) return this.quantity(syntax)
    this.spend(1, syntax.at)
    return holds[syntax.operator](compare(this.quantity(syntax.left), this.quantity(syntax.right)))
  }

  private spend(work: number, at: number): void {
    this.work += work
    if (this.work > workMax) refuse(at, "the expression is too much work; split it into smaller ones")
  }

  private quantity(syntax: Syntax): Quantity {
    const { at, kind } = syntax
    switch (kind) {
      case "number":
        return numberOf(syntax.digits, at)
      case "constant":
        return constants[syntax.name] ?? refuse(at, "there is no such constant")
      case "group": {
        const value = this.value(syntax.inner)
        return typeof value === "boolean" ? refuse(at, "expected a number, found true or false") : value
      }
      case "prefix":
        return this.prefix(syntax.operator, this.quantity(syntax.inner), at)
      case "postfix":
        return this.postfix(syntax.operator, this.quantity(syntax.inner), at)
      case "binary":
        return this.binary(syntax)
      case "call": {
        const called = functions.get(syntax.name) ?? refuse(at, "there is no such function")
        const args = syntax.args.map((arg) => this.quantity(arg))
        this.spend(called.work * args.length, at)
        return called.apply(args, at)
      }
    }
  }

  private prefix(operator: "-" | "√" | "∛", inner: Quantity, at: number): Quantity {
    if (operator === "-") return negate(inner)
    this.spend(5, at)
    return operator === "√" ? squareRoot(inner, at) : cubeRoot(inner, at)
  }

  private postfix(operator: "!" | "%" | "deg", inner: Quantity, at: number): Quantity {
    this.spend(operator === "!" ? 5 : 1, at)
    if (operator === "!") return factorial(inner, at)
    return operator === "%" ? divide(inner, hundred, at) : radians(inner, at)
  }

  private binary({
    at,
    left: leftSyntax,
    operator,
    right: rightSyntax
  }: Syntax & { kind: "binary" }): Quantity {
    const left = this.quantity(leftSyntax)
    const right = this.quantity(rightSyntax)
    this.spend(operator === "^" ? powerWork(right) : 1, at)
    switch (operator) {
      case "+":
      case "-": {
        const isShare = isPercentage(rightSyntax) && !isPercentage(leftSyntax)
        const term = isShare ? multiply(left, right, at) : right
        return operator === "+" ? add(left, term, at) : subtract(left, term, at)
      }
      case "*":
        return multiply(left, right, at)
      case "/":
        return divide(left, right, at)
      case "mod":
        return modulo(left, right, at)
      case "^":
        return power(left, right, at)
      default:
        return refuse(at, "a comparison inside of a calculation must stand in parentheses")
    }
  }
}

/** A power with a fraction in its exponent takes a logarithm. */
const powerWork = ({ value }: Quantity): number => (value.isInteger() ? 5 : 20)

const numberOf = (digits: string, at: number): Quantity => {
  const value = new Exact(/^0[xbo]/i.test(digits) ? BigInt(digits).toString() : digits)
  return value.sd() > digitsMax
    ? refuse(at, `the number is too long; it may have at most ${digitsMax} digits`)
    : settle(value, true, at)
}
