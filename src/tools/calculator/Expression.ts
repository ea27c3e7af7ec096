import type { Decimal } from "decimal.js"
import { Schema } from "effect"
import { constants, digitsMax, Exact, operations, settle } from "./Functions.ts"

/** Why an expression has no value. `message` names the position, counted in characters from 1. */
export class ExpressionError extends Schema.TaggedError<ExpressionError>()("ExpressionError", {
  position: Schema.Int,
  message: Schema.String
}) {}

/** `at` is counted from 0; `problem` is part of a sentence. */
const refuse = (at: number, problem: string): never => {
  throw new ExpressionError({ position: at + 1, message: `Position ${at + 1}: ${problem}.` })
}

const charactersMax = 4_000
/** Deepest nesting of parentheses, signs and powers. */
const depthMax = 100
/**
 * Highest cost of an expression: a sum or product is 1, a power or root 5, a logarithm or sine 20, about a
 * millisecond.
 */
const workMax = 1_000

/** `meaning` is the same for all that mean the same: 8431 of 8,431, * of ×. */
type Token = { readonly kind: string; readonly text: string; readonly at: number; readonly meaning: string }
/** Adding a percentage, which is one that is written so, means adding that share. */
type Term = { readonly at: number; readonly value: Decimal | boolean; readonly isPercentage?: boolean }

const tokenPattern = new RegExp(
  [
    String.raw`(?<number>0x[0-9a-f]+|0b[01]+|0o[0-7]+|\.\d+(?:e[+-]?\d+)?`,
    String.raw`(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+(?:_\d+)*)(?:\.\d*)?(?:e[+-]?\d+)?)`,
    String.raw`(?<name>\p{L}[\p{L}\d_]*)|(?<superscript>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)`,
    String.raw`(?<sign>,\s+|\*\*|[=!<>]=|[-+*/%^!(),=<>×·⋅∙÷∕−–≤≥≠°√∛])|(?<unknown>\S)`
  ].join("|"),
  "giu"
)
/** Lines of words and signs that mean what the first of them means. */
const synonyms = ["^ **", "* × · ⋅ ∙ of", "/ ÷ ∕", "- − –", "= ==", "!= ≠", "<= ≤", ">= ≥"]
  .concat("° deg degree degrees", "rad radian radians")
  .map((line) => line.split(" "))

const meaningOf = (kind: string, text: string): string => {
  if (kind === "number") return text.replaceAll(/[,_]/g, "")
  if (kind === "superscript") return text.normalize("NFKC").replace("−", "-")
  return synonyms.find((words) => words.includes(text.toLowerCase()))?.[0] ?? text.trim().toLowerCase()
}

const tokensOf = (expression: string): ReadonlyArray<Token> =>
  [...expression.matchAll(tokenPattern)]
    .map(({ 0: text, groups = {}, index: at }) => {
      const kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? ""
      return { kind, text, at, meaning: meaningOf(kind, text) }
    })
    .concat({ kind: "end", text: "the end", at: expression.length, meaning: "" })

const ranks = new Map(Object.entries({ "+": 1, "-": 1, "*": 2, "/": 2, "%": 2, mod: 2, "^": 3 }))
/** The orders of the left side to the right one that a comparison accepts: below, equal, above. */
const comparisons = new Map(
  Object.entries({ "=": [0], "!=": [-1, 1], "<": [-1], "<=": [-1, 0], ">": [1], ">=": [0, 1] })
)
const expectedOperand = "expected a number, a function or an opening parenthesis"
/** Signs don't count: `10% - 5` subtracts. */
const beginsOperand = ({ kind, meaning }: Token) =>
  kind === "number" || (kind === "name" && !ranks.has(meaning)) || /^[(√∛]$/.test(meaning)
/** The numbers and commas of a number with commas. */
const partsOf = ({ at, text }: Token): ReadonlyArray<Token> =>
  text.split(/(,)/).map((part) => ({ kind: part === "," ? "sign" : "number", text: part, at, meaning: part }))
const named = ({ kind, text }: Token) => (kind === "end" ? text : JSON.stringify(text))

/** Calculates an expression while reading it; throws an `ExpressionError`. */
export class Evaluation {
  private index = 0
  private depth = 0
  private work = 0
  private tokens: ReadonlyArray<Token>

  constructor(expression: string) {
    const isLong = expression.length > charactersMax
    if (isLong) refuse(charactersMax, `the expression is longer than ${charactersMax} characters`)
    this.tokens = tokensOf(expression)
  }

  result(): Decimal | boolean {
    const { value } = this.binary(0)
    const { at, kind, meaning } = this.next
    if (kind === "end") return value
    if (meaning === ")") return refuse(at, 'this ")" closes nothing')
    return this.unexpected("an operator or the end")
  }

  private get next(): Token {
    const token = this.tokens[this.index] ?? refuse(0, expectedOperand)
    if (token.kind !== "unknown") return token
    return refuse(token.at, `the calculator doesn't know the character ${named(token)}`)
  }

  private takes(meaning: string): boolean {
    const isNext = this.next.meaning === meaning
    if (isNext) this.index++
    return isNext
  }

  private unexpected(wanted: string): never {
    const { at, meaning } = this.next
    const comma = ": a comma stands between the arguments of a function or before three digits, as in 8,431"
    const product = beginsOperand(this.next) ? ": a multiplication is always written, as in 2 * pi" : ""
    return refuse(at, `expected ${wanted}, found ${named(this.next)}${meaning === "," ? comma : product}`)
  }

  /** Reads what lies within something else. */
  private nested<A>(at: number, read: () => A): A {
    this.depth++
    if (this.depth > depthMax)
      refuse(at, `the expression is nested too deeply; ${depthMax} levels are possible`)
    const result = read()
    this.depth--
    return result
  }

  private bounded(at: number, value: Decimal): Decimal {
    if (!(value.e < digitsMax)) refuse(at, `the number is too large; it may have at most ${digitsMax} digits`)
    if (value.e < -digitsMax) refuse(at, `the number is too close to zero; the closest is 1e-${digitsMax}`)
    return settle(value)
  }

  private apply(at: number, name: string, ...terms: ReadonlyArray<Term>): Term & { readonly value: Decimal } {
    const [, , , work, apply, problem = "the result is no real number"] = this.operation(at, name)
    const values = terms.map(({ at: start, value }) =>
      typeof value === "boolean" ? refuse(start, "expected a number, found true or false") : value
    )
    this.work += work * values.length
    if (this.work > workMax) refuse(at, "the expression is too much work; split it into smaller ones")
    const value = apply(...values)
    return { at, value: value.isFinite() ? this.bounded(at, value) : refuse(at, problem) }
  }

  /** Operators of that rank and of higher ones. */
  private binary(rankMin: number): Term {
    let left = this.prefix()
    for (;;) {
      const { at, meaning } = this.next
      const rank = comparisons.has(meaning) ? 0 : (ranks.get(meaning) ?? -1)
      if (rank < rankMin) return left
      this.index++
      const orders = comparisons.get(meaning)
      if (orders !== undefined && typeof left.value === "boolean") refuse(at, "one comparison at a time")
      const right = meaning === "^" ? this.nested(at, () => this.binary(rank)) : this.binary(rank + 1)
      if (orders !== undefined) {
        left = { at, value: orders.includes(this.apply(at, "<=>", left, right).value.toNumber()) }
        continue
      }
      const isShare = rank === 1 && right.isPercentage === true && left.isPercentage !== true
      const term = isShare ? this.apply(at, "*", left, right) : right
      const isPercentage = rank === 1 && left.isPercentage === true && right.isPercentage === true
      left = { ...this.apply(at, meaning, left, term), isPercentage }
    }
  }

  private prefix(): Term {
    const { at, meaning } = this.next
    if (!/^[-+√∛]$/.test(meaning)) return this.postfix()
    this.index++
    const inner = this.nested(at, () => this.binary(3))
    if (meaning === "√" || meaning === "∛") return this.apply(at, meaning, inner)
    const signed = this.apply(at, meaning, { at, value: new Exact(0) }, inner)
    return { ...signed, isPercentage: inner.isPercentage === true }
  }

  private postfix(): Term {
    let inner = this.primary()
    for (;;) {
      const { at, kind, meaning } = this.next
      const follower = this.tokens[this.index + 1]
      if (kind === "superscript") inner = this.apply(at, "^", inner, { at, value: new Exact(meaning) })
      else if (meaning === "!" && this.tokens[this.index - 1]?.meaning === "!") {
        refuse(at, "there is no double factorial; the factorial of a factorial needs parentheses")
      } else if (meaning === "!" || meaning === "°") inner = this.apply(at, meaning, inner)
      else if (meaning === "%" && follower !== undefined && !beginsOperand(follower)) {
        inner = { ...this.apply(at, "/", inner, { at, value: new Exact(100) }), isPercentage: true }
      } else if (meaning !== "rad") return inner
      this.index++
    }
  }

  private primary(): Term {
    const { at, kind, meaning, text } = this.next
    if ((kind !== "number" && kind !== "name" && meaning !== "(") || meaning === "*") {
      return refuse(at, `${expectedOperand}, found ${named(this.next)}`)
    }
    this.index++
    if (kind === "name") return this.constantOrCall(at, text)
    if (kind === "number") {
      const value = new Exact(meaning)
      if (value.sd() > digitsMax)
        refuse(at, `the number is too long; it may have at most ${digitsMax} digits`)
      return { at, value: this.bounded(at, value) }
    }
    const { value } = this.nested(at, () => this.binary(0))
    if (this.takes(")")) return { at, value }
    return this.unexpected(`an operator or the ")" for the "(" at position ${at + 1}`)
  }

  private operation(at: number, name: string) {
    const found = operations.get(name)
    if (found !== undefined) return found
    const names = [...operations.keys()].filter((key) => /^[a-z]/.test(key)).join(" ")
    const known = `the functions are ${names}, the constants are pi e tau phi`
    return refuse(at, `there is no ${JSON.stringify(name.slice(0, 40))}; ${known}`)
  }

  private constantOrCall(at: number, text: string): Term {
    const name = text.toLowerCase()
    const value = constants.get(name)
    if (value !== undefined) return { at, value }
    const [, argumentsMin, argumentsMax] = this.operation(at, name)
    if (!this.takes("(")) refuse(this.next.at, `expected "(" after ${text}, found ${named(this.next)}`)
    this.splitNumbers(argumentsMin, argumentsMax)
    const terms = this.nested(at, () => {
      const found = [this.binary(1)]
      while (this.takes(",")) found.push(this.binary(1))
      return found
    })
    if (!this.takes(")")) return this.unexpected(`a comma or the ")" of ${name}`)
    if (terms.length >= argumentsMin && terms.length <= argumentsMax) return this.apply(at, name, ...terms)
    const wanted = argumentsMin === argumentsMax ? `${argumentsMin}` : `${argumentsMin} to ${argumentsMax}`
    return refuse(at, `${name} takes ${wanted} argument${wanted === "1" ? "" : "s"}, not ${terms.length}`)
  }

  /**
   * `gcd(12,144)` has two arguments, `sqrt(8,431)` has one: the number of arguments that the function takes
   * decides.
   */
  private splitNumbers(argumentsMin: number, argumentsMax: number): void {
    const inside: Array<Token> = []
    let depth = 0
    for (const token of this.tokens.slice(this.index)) {
      if (token.meaning === ")" && depth-- === 0) break
      if (depth === 0) inside.push(token)
      if (token.meaning === "(") depth++
    }
    const grouped = inside.filter(({ kind, text }) => kind === "number" && text.includes(","))
    const together = inside.filter(({ meaning }) => meaning === ",").length + 1
    const apart = together + grouped.flatMap(({ text }) => text.split(",").slice(1)).length
    const fits = (count: number) => count >= argumentsMin && count <= argumentsMax
    if (grouped[0] === undefined || !fits(apart)) return
    if (fits(together) && (argumentsMax !== Infinity || inside.some(({ text }) => /^,\s/.test(text)))) {
      const remedy = "write numbers without commas here, and a space after each comma between arguments"
      refuse(grouped[0].at, `${named(grouped[0])} could be one number or several arguments: ${remedy}`)
    }
    this.tokens = this.tokens.flatMap((token) => (grouped.includes(token) ? partsOf(token) : token))
  }
}
