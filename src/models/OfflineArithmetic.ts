/** A calculation that a message asks for, as it is written there but for words in place of signs. */
export interface Calculation {
  readonly at: number
  readonly end: number
  readonly expression: string
}

/** What a calculation is made of; `writes` is what the calculator reads in its place. */
interface Kind {
  readonly pattern: RegExp
  readonly writes?: string
  /** Whether it makes a calculation out of what would be a mere number. */
  readonly isOperation?: boolean
}

/** Where a number or a parenthesis is expected. */
const operands = {
  number: {
    pattern: /(?:\d{1,3}(?:,\d{3})+(?!,?\d)|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?!(?!x\s*\d)[\p{L}\d])|\.\d+/iuy
  },
  constant: { pattern: /(?:pi|tau|phi|e)\b|π/iy },
  call: {
    pattern:
      /(?:sqrt|cbrt|abs|sign|floor|ceil|trunc|round|min|max|sum|mean|median|exp|ln|log2|log10|log|pow|mod|gcd|lcm|factorial|ncr|npr|hypot|a?(?:sin|cos|tan)h?|atan2|degrees|radians)\s*\(/iy,
    isOperation: true
  },
  root: { pattern: /(?:the\s+)?square\s+root\s+of\b/iy, writes: "√", isOperation: true },
  rootSign: { pattern: /√/y, isOperation: true },
  open: { pattern: /\(/y },
  sign: { pattern: /[-+−]/y }
} satisfies Record<string, Kind>

/** What may follow a number, and ends it. */
const postfixes = {
  percent: { pattern: /%|percent\b/iy, writes: "%" },
  power: { pattern: /[²³]|!(?!=)/y, isOperation: true },
  squared: { pattern: /squared\b/iy, writes: "²", isOperation: true },
  degrees: { pattern: /°|deg\b/iy }
} satisfies Record<string, Kind>

/** What may stand between two numbers. */
const operators: ReadonlyArray<Kind> = [
  { pattern: /\*\*|[-+*/^×÷·−]/y },
  { pattern: /x(?=\s*[\d(.])/iy, writes: "*" },
  { pattern: /plus\b/iy, writes: "+" },
  { pattern: /minus\b/iy, writes: "-" },
  { pattern: /(?:times|multiplied\s+by)\b/iy, writes: "*" },
  { pattern: /(?:divided\s+by|over)\b/iy, writes: "/" },
  { pattern: /to\s+the\s+power\s+of\b/iy, writes: "^" },
  { pattern: /mod(?:ulo)?\b/iy, writes: "mod" }
]

const of: Kind = { pattern: /of\b/iy }
const modulo: Kind = { pattern: /(?=[\d(.])/y }
const comma: Kind = { pattern: /,/y }
const close: Kind = { pattern: /\)/y }
const blank = /\s*/y

const matchAt = (pattern: RegExp, text: string, at: number): string | null => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? null
}

/** Reads an expression from the left, as far as it is one. */
class Scan {
  private readonly text: string
  private at: number
  private depth = 0
  private written = ""
  private operations = 0
  /** The longest beginning that is a whole expression. */
  private whole: { readonly end: number; readonly expression: string; readonly operations: number } | null =
    null

  constructor(text: string, from: number) {
    this.text = text
    this.at = from
  }

  /** The longest expression that begins here; null where there is none that calculates anything. */
  read(): Pick<Calculation, "end" | "expression"> | null {
    while (this.operand() && this.rest()) {
      // An operator was read; another operand has to follow.
    }
    return this.whole !== null && this.whole.operations > 0 ? this.whole : null
  }

  private take(kind: Kind): boolean {
    const gap = matchAt(blank, this.text, this.at) ?? ""
    const found = matchAt(kind.pattern, this.text, this.at + gap.length)
    if (found === null) return false
    this.at += gap.length + found.length
    this.written += gap.replace(/\s+/g, " ") + (kind.writes ?? found)
    if (kind.isOperation === true) this.operations++
    return true
  }

  private operand(): boolean {
    for (;;) {
      if (this.take(operands.number) || this.take(operands.constant)) return true
      if (this.take(operands.call) || this.take(operands.open)) this.depth++
      else if (!this.take(operands.root) && !this.take(operands.rootSign) && !this.take(operands.sign))
        return false
    }
  }

  /** Everything up to the next operator, and that; false where the expression ends. */
  private rest(): boolean {
    for (;;) {
      this.keep()
      if (this.take(postfixes.percent)) {
        this.keep()
        // A percentage of something, or a remainder.
        if (this.take(of) || this.take(modulo)) return this.operate()
      } else if (this.depth > 0 && this.take(close)) this.depth--
      else if (this.depth > 0 && this.take(comma)) return true
      else if (
        !this.take(postfixes.power) &&
        !this.take(postfixes.squared) &&
        !this.take(postfixes.degrees)
      ) {
        return operators.some((operator) => this.take(operator)) && this.operate()
      }
    }
  }

  private operate(): true {
    this.operations++
    return true
  }

  private keep(): void {
    if (this.depth > 0) return
    this.whole = { end: this.at, expression: this.written.trim(), operations: this.operations }
  }
}

/** Words after which a calculation is asked for. */
const askings =
  /\b(?:what(?:['’]?s|\s+is|\s+are)|how\s+much\s+is|calculate|compute|evaluate|work\s+out|solve|(?:result|value)\s+of)\b[\s:]*(?:the\s+(?:result|value)\s+of\s+)?/giu

/** What may come between two calculations that are asked for in one breath. */
const another = /\s*(?:[,;]\s*(?:and\s+|then\s+)?|and\s+|then\s+)/iy

/** What comes behind a calculation that isn't the beginning of something else, such as "24/7 support". */
const ending = /\s*(?:$|[?.,;:!=)"'”’\ufffc]|(?:and|then|equals?|please|exactly|rounded)\b)/iy

const wholeEnding = /\s*=?\s*\??\s*$/y

/** Days and the like, which look like differences and fractions. */
const date = /^(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\/\d{1,2}\/\d{2,4})$/

const calculationAt = (text: string, at: number, follows: RegExp): Calculation | null => {
  const start = at + (matchAt(blank, text, at) ?? "").length
  const found = new Scan(text, start).read()
  if (found === null || date.test(found.expression) || matchAt(follows, text, found.end) === null) return null
  return { at: start, ...found }
}

/** The calculations that a message plainly asks for: those behind such words, or what is nothing but a calculation. */
export const calculationsIn = (text: string): ReadonlyArray<Calculation> => {
  const whole = calculationAt(text, 0, wholeEnding)
  if (whole !== null) return [whole]
  const found: Array<Calculation> = []
  for (const asking of text.matchAll(askings)) {
    let at = asking.index + asking[0].length
    for (;;) {
      const calculation = calculationAt(text, at, ending)
      if (calculation === null) break
      found.push(calculation)
      const between = matchAt(another, text, calculation.end)
      if (between === null) break
      at = calculation.end + between.length
    }
  }
  return found
}
