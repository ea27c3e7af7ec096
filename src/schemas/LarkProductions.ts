import { Broken, type Pattern, Unsupported } from "./Pattern.ts"
import type { GrammarSymbol, Terminal } from "./Recognizer.ts"

/** Turns the definitions of a Lark grammar into terminals, which are patterns, and productions. */

const depthMax = 64
/** Symbols in all productions together. */
const symbolsMax = 20_000
const labelCharactersMax = 60

export type Expression =
  | Terminal
  | { readonly name: string }
  | { readonly items: ReadonlyArray<Expression> }
  | { readonly options: ReadonlyArray<Expression> }
  | { readonly item: Expression; readonly min: number; readonly max: number }

const isTerminal = (one: string): boolean => /^_*[A-Z]/.test(one)

export const terminal = (label: string, pattern: Pattern): Terminal => ({
  pattern,
  label: label.length <= labelCharactersMax ? label : `${label.slice(0, labelCharactersMax).toWellFormed()}…`
})

/** The expression of a terminal as a pattern. `path`: the names that lead to it, to detect cycles. */
export const patternOf = (
  expression: Expression,
  named: ReadonlyMap<string, Expression>,
  path: ReadonlyArray<string>
): Pattern => {
  if ("pattern" in expression) return expression.pattern
  if ("items" in expression)
    return { type: "sequence", items: expression.items.map((item) => patternOf(item, named, path)) }
  if ("options" in expression)
    return { type: "choice", options: expression.options.map((option) => patternOf(option, named, path)) }
  if ("item" in expression)
    return { ...expression, type: "repeat", item: patternOf(expression.item, named, path) }
  const found = named.get(expression.name)
  if (found === undefined) throw new Broken(`${expression.name} is not defined`)
  if (!isTerminal(expression.name))
    throw new Broken(`the terminal ${path[0]} uses the rule ${expression.name}`)
  if (path.includes(expression.name)) throw new Broken(`the terminal ${expression.name} uses itself`)
  if (path.length > depthMax) throw new Unsupported(`terminals in ${depthMax} others`)
  return patternOf(found, named, [...path, expression.name])
}

/** The rules as productions. Groups in brackets and repetitions become rules of their own. */
export const productionsOf = (named: ReadonlyMap<string, Expression>) => {
  const rules = new Map<string, ReadonlyArray<ReadonlyArray<GrammarSymbol>>>()
  const terminals = new Map<string, Terminal>()
  let symbols = 0

  const added = (productions: ReadonlyArray<ReadonlyArray<GrammarSymbol>>): string => {
    const rule = `(${rules.size})`
    rules.set(rule, productions)
    return rule
  }

  const nameSymbol = (one: string): GrammarSymbol => {
    const expression = named.get(one)
    if (expression === undefined) throw new Broken(`${one} is not defined`)
    if (!isTerminal(one)) return one
    const known = terminals.get(one) ?? terminal(one, patternOf(expression, named, [one]))
    terminals.set(one, known)
    return known
  }

  const repeated = (
    item: ReadonlyArray<GrammarSymbol>,
    min: number,
    max: number
  ): ReadonlyArray<GrammarSymbol> => {
    const most = max === Number.POSITIVE_INFINITY ? min : max
    symbols += item.length * most
    if (symbols > symbolsMax) throw new Unsupported(`more than ${symbolsMax} symbols`)
    const first = Array.from({ length: min }, () => item).flat()
    if (max === Number.POSITIVE_INFINITY) {
      const rule = `(${rules.size})`
      rules.set(rule, [[], [rule, ...item]])
      return [...first, rule]
    }
    const optional = Array.from({ length: max - min }).reduce<ReadonlyArray<GrammarSymbol>>(
      (rest) => [added([[], [...item, ...rest]])],
      []
    )
    return [...first, ...optional]
  }

  const sequence = (expression: Expression): ReadonlyArray<GrammarSymbol> => {
    if (++symbols > symbolsMax) throw new Unsupported(`more than ${symbolsMax} symbols`)
    if ("pattern" in expression) return [expression]
    if ("name" in expression) return [nameSymbol(expression.name)]
    if ("items" in expression) return expression.items.flatMap(sequence)
    return "options" in expression
      ? [added(expression.options.map(sequence))]
      : repeated(sequence(expression.item), expression.min, expression.max)
  }

  for (const [rule, expression] of named) {
    if (isTerminal(rule)) nameSymbol(rule)
    else rules.set(rule, "options" in expression ? expression.options.map(sequence) : [sequence(expression)])
  }
  return rules
}
