import { argumentTokens } from "./ArgumentTokens.ts"
import { constants } from "./Analysis.ts"
import { refuse } from "./ExpressionError.ts"
import { functions } from "./Functions.ts"
import { type Token, tokensOf } from "./Lexer.ts"
import type { BinaryOperator, Syntax } from "./Syntax.ts"

/** How deep parentheses, signs and powers may lie in each other. */
export const depthMax = 100

const comparisons: ReadonlyMap<string, BinaryOperator> = new Map(
  (["=", "!=", "<", "<=", ">", ">="] as const).map((operator) => [operator, operator])
)
const sums: ReadonlyMap<string, BinaryOperator> = new Map(
  (["+", "-"] as const).map((operator) => [operator, operator])
)
const products: ReadonlyMap<string, BinaryOperator> = new Map([
  ["*", "*"],
  ["/", "/"],
  ["%", "mod"],
  ["mod", "mod"],
  ["of", "*"]
])
const units: ReadonlyMap<string, "deg" | "rad"> = new Map([
  ["°", "deg"],
  ["deg", "deg"],
  ["degree", "deg"],
  ["degrees", "deg"],
  ["rad", "rad"],
  ["radian", "rad"],
  ["radians", "rad"]
])

const expected = "expected a number, a function or an opening parenthesis"

/** What stands there, to be named in a message. */
const named = (token: Token): string => (token.kind === "end" ? "the end" : JSON.stringify(token.text))

/** Whether a number can begin there. Signs don't count: `10% - 5` subtracts. */
const beginsOperand = ({ kind, meaning }: Token): boolean =>
  kind === "number" ||
  (kind === "name" && !products.has(meaning)) ||
  (kind === "sign" && (meaning === "(" || meaning === "√" || meaning === "∛"))

/** The tree of an expression. */
export const parse = (text: string): Syntax => new Parser(tokensOf(text)).parse()

class Parser {
  private tokens: ReadonlyArray<Token>
  private index = 0
  private depth = 0

  constructor(tokens: ReadonlyArray<Token>) {
    this.tokens = tokens
  }

  parse(): Syntax {
    const syntax = this.comparison()
    const token = this.next
    if (token.kind === "end") return syntax
    if (token.meaning === ")") return refuse(token.at, 'this ")" closes nothing')
    if (comparisons.has(token.meaning)) return refuse(token.at, "one comparison at a time")
    return this.refuseOperator(token, "an operator or the end")
  }

  private get next(): Token {
    return this.ahead(0)
  }

  private ahead(count: number): Token {
    const token = this.tokens[Math.min(this.index + count, this.tokens.length - 1)]
    return token ?? refuse(0, expected)
  }

  /** Steps over the next token if that is what it means. */
  private takes(meaning: string): boolean {
    if (this.next.kind !== "sign" || this.next.meaning !== meaning) return false
    this.index++
    return true
  }

  private nested<A>(at: number, read: () => A): A {
    if (++this.depth > depthMax) {
      return refuse(at, `the expression is nested too deeply; ${depthMax} levels are possible`)
    }
    const result = read()
    this.depth--
    return result
  }

  private refuseOperator(token: Token, wanted: string): never {
    const found = `expected ${wanted}, found ${named(token)}`
    if (token.meaning === ",") {
      return refuse(
        token.at,
        `${found}: a comma stands between the arguments of a function or before three digits, as in 8,431`
      )
    }
    return refuse(
      token.at,
      beginsOperand(token) ? `${found}: a multiplication is always written, as in 2 * pi` : found
    )
  }

  private comparison(): Syntax {
    const left = this.sum()
    const { at, meaning } = this.next
    const operator = comparisons.get(meaning)
    if (operator === undefined) return left
    this.index++
    return { kind: "binary", at, operator, left, right: this.sum() }
  }

  private sum(): Syntax {
    return this.chain(sums, () => this.product())
  }

  private product(): Syntax {
    return this.chain(products, () => this.signed())
  }

  /** Operators of one rank, from left to right. */
  private chain(operators: ReadonlyMap<string, BinaryOperator>, operand: () => Syntax): Syntax {
    let left = operand()
    for (;;) {
      const { at, meaning } = this.next
      const operator = operators.get(meaning)
      if (operator === undefined) return left
      this.index++
      left = { kind: "binary", at, operator, left, right: operand() }
    }
  }

  private signed(): Syntax {
    const { at, kind, meaning } = this.next
    if (kind !== "sign") return this.power()
    if (meaning === "+") {
      this.index++
      return this.nested(at, () => this.signed())
    }
    if (meaning !== "-" && meaning !== "√" && meaning !== "∛") return this.power()
    this.index++
    return { kind: "prefix", at, operator: meaning, inner: this.nested(at, () => this.signed()) }
  }

  private power(): Syntax {
    const left = this.postfix()
    const { at } = this.next
    if (!this.takes("^")) return left
    return { kind: "binary", at, operator: "^", left, right: this.nested(at, () => this.signed()) }
  }

  private postfix(): Syntax {
    let inner = this.primary()
    for (;;) {
      const { at, kind, meaning } = this.next
      const unit = units.get(meaning)
      if (kind === "superscript") {
        const right: Syntax = { kind: "number", at, digits: meaning }
        inner = { kind: "binary", at, operator: "^", left: inner, right }
      } else if (meaning === "!" && inner.kind === "postfix" && inner.operator === "!") {
        return refuse(at, "there is no double factorial; the factorial of a factorial needs parentheses")
      } else if (meaning === "!" || (meaning === "%" && !beginsOperand(this.ahead(1)))) {
        inner = { kind: "postfix", at, operator: meaning, inner }
      } else if (unit === "deg") {
        inner = { kind: "postfix", at, operator: unit, inner }
      } else if (unit === undefined) {
        return inner
      }
      this.index++
    }
  }

  private primary(): Syntax {
    const { at, kind, meaning } = this.next
    if (kind === "number") {
      this.index++
      return { kind: "number", at, digits: meaning }
    }
    if (kind === "name") return this.name()
    if (!this.takes("(")) return refuse(at, `${expected}, found ${named(this.next)}`)
    const inner = this.nested(at, () => this.comparison())
    if (this.takes(")")) return { kind: "group", at, inner }
    return this.refuseOperator(this.next, `an operator or the ")" for the "(" at position ${at + 1}`)
  }

  private name(): Syntax {
    const { at, meaning, text } = this.next
    const isFunction = functions.has(meaning)
    if (!isFunction && (products.has(meaning) || units.has(meaning))) {
      return refuse(at, `${expected}, found ${named(this.next)}`)
    }
    this.index++
    if (Object.hasOwn(constants, meaning)) return { kind: "constant", at, name: meaning }
    if (!isFunction) {
      const names = `the functions are ${[...functions.keys()].join(" ")}, the constants are pi e tau phi`
      return refuse(at, `there is no ${JSON.stringify(text.slice(0, 40))}; ${names}`)
    }
    if (!this.takes("(")) return refuse(this.next.at, `expected "(" after ${text}, found ${named(this.next)}`)
    return { kind: "call", at, name: meaning, args: this.nested(at, () => this.args(meaning, at)) }
  }

  /** The arguments of a call, from behind its opening parenthesis to behind its closing one. */
  private args(name: string, at: number): ReadonlyArray<Syntax> {
    const called = functions.get(name)
    if (called === undefined) return refuse(at, expected)
    this.tokens = argumentTokens(this.tokens, this.index, called)
    const args = [this.comparison()]
    while (this.takes(",")) args.push(this.comparison())
    if (!this.takes(")")) return this.refuseOperator(this.next, `a comma or the ")" of ${name}`)
    const { argumentsMax, argumentsMin } = called
    if (args.length >= argumentsMin && args.length <= argumentsMax) return args
    const wanted = argumentsMin === argumentsMax ? `${argumentsMin}` : `${argumentsMin} to ${argumentsMax}`
    return refuse(
      at,
      `${name} takes ${wanted} ${wanted === "1" ? "argument" : "arguments"}, not ${args.length}`
    )
  }
}
