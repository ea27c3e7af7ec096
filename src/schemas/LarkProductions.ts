import { Broken, type Pattern, Unsupported } from "./Pattern.ts"
import type { GrammarSymbol, Terminal } from "./Recognizer.ts"

/** Turns the definitions of a Lark grammar into terminals, which are patterns, and productions. */

/** Patterns that lie in each other in a terminal, without those of its regular expressions. */
const patternDepthMax = 256
/** Parts of a terminal, those of the terminals that it uses among them. */
const nodesMax = 20_000
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

interface Expanded {
  readonly pattern: Pattern
  /** Patterns within it, each as often as it is used. */
  readonly nodes: number
  /** Patterns that lie in each other. */
  readonly depth: number
}

const within = (pattern: Pattern, inner: ReadonlyArray<Expanded>): Expanded => {
  const nodes = inner.reduce((sum, one) => sum + one.nodes, 1)
  if (nodes > nodesMax) throw new Unsupported(`terminals of more than ${nodesMax} parts`)
  return { pattern, nodes, depth: 1 + inner.reduce((most, { depth }) => Math.max(most, depth), 0) }
}

/** Makes patterns of expressions of terminals. Each terminal is expanded once. */
export const terminalsOf = (named: ReadonlyMap<string, Expression>): ((one: Expression) => Pattern) => {
  const expanded = new Map<string, Expanded>()
  /** The terminals that are being expanded, the outermost first. */
  const open = new Set<string>()

  const demandDepth = (depth: number): void => {
    if (depth > patternDepthMax) throw new Unsupported(`terminals of ${patternDepthMax} levels`)
  }

  const expandNamed = (name: string, depth: number): Expanded => {
    const known = expanded.get(name)
    if (known !== undefined) {
      demandDepth(depth + known.depth)
      return known
    }
    const found = named.get(name)
    if (found === undefined) throw new Broken(`${name} is not defined`)
    if (!isTerminal(name)) throw new Broken(`a terminal uses the rule ${name}`)
    if (open.has(name)) throw new Broken(`the terminal ${name} uses itself`)
    open.add(name)
    const made = expand(found, depth + 1)
    open.delete(name)
    expanded.set(name, made)
    return made
  }

  /** `depth` is the number of patterns around it. */
  const expand = (expression: Expression, depth: number): Expanded => {
    demandDepth(depth)
    if ("pattern" in expression) return within(expression.pattern, [])
    if ("name" in expression) return expandNamed(expression.name, depth)
    if ("items" in expression) {
      const inner = expression.items.map((item) => expand(item, depth + 1))
      return within({ type: "sequence", items: inner.map(({ pattern }) => pattern) }, inner)
    }
    if ("options" in expression) {
      const inner = expression.options.map((option) => expand(option, depth + 1))
      return within({ type: "choice", options: inner.map(({ pattern }) => pattern) }, inner)
    }
    const item = expand(expression.item, depth + 1)
    return within({ ...expression, type: "repeat", item: item.pattern }, [item])
  }

  return (expression) => expand(expression, 0).pattern
}

/** The rules as productions. Groups in brackets and repetitions become rules of their own. */
export const productionsOf = (
  named: ReadonlyMap<string, Expression>,
  patternOf: (one: Expression) => Pattern
) => {
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
    const known = terminals.get(one) ?? terminal(one, patternOf({ name: one }))
    terminals.set(one, known)
    return known
  }

  const repeated = (
    item: ReadonlyArray<GrammarSymbol>,
    min: number,
    max: number
  ): ReadonlyArray<GrammarSymbol> => {
    const most = max === Number.POSITIVE_INFINITY ? min : max
    // Nothing, repeated, is work as well.
    symbols += Math.max(1, item.length) * Math.max(min, most)
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
