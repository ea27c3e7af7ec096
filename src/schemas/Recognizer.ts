import { endsOf, type Pattern, spend, type Work } from "./Pattern.ts"

/**
 * Decides if a text belongs to a context-free language. Source: J. Earley, An Efficient Context-Free Parsing
 * Algorithm, 1970.
 */

export interface Terminal {
  readonly pattern: Pattern
  /** The terminal as the grammar writes it. */
  readonly label: string
}

/** The name of a rule, or a terminal. */
export type GrammarSymbol = string | Terminal

export interface Grammar {
  readonly start: string
  /** The productions of each rule. */
  readonly rules: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<GrammarSymbol>>>
  /** The pattern that may precede any terminal and the end; null if there is none. */
  readonly ignored: Pattern | null
}

/**
 * The position up to which a text belongs to the language, and the terminals that the grammar expects there.
 */
export interface Misfit {
  readonly at: number
  readonly expected: ReadonlyArray<string>
}

/** A position in a production. The position behind the next symbol is the next place. */
interface Place {
  readonly rule: string
  /** null at the end. */
  readonly next: GrammarSymbol | null
}

const placesOf = ({ rules }: Grammar) => {
  const places: Array<Place> = []
  const firsts = new Map<string, ReadonlyArray<number>>()
  for (const [rule, productions] of rules) {
    const begun = productions.map((symbols) => {
      const first = places.length
      places.push(...symbols.map((next) => ({ rule, next })), { rule, next: null })
      return first
    })
    firsts.set(rule, begun)
  }
  return { places, firsts }
}

/** A production that began at `origin` and has been matched up to the place. */
interface Item {
  readonly place: number
  readonly origin: number
}

/** All items at one index of the text. Most columns have one or two items that lead nowhere. */
interface Column {
  readonly items: Array<Item>
  readonly known: Set<number>
  /** The items that wait for a rule that begins here. */
  waiting?: Map<string, Array<Item>>
  /** The rules that match nothing here. */
  empty?: Set<string>
  readonly ends: Map<Terminal, ReadonlySet<number>>
}

const expectedMax = 8

/** Returns null if the text belongs to the language. */
export const recognize = (grammar: Grammar, text: string, work: Work): Misfit | null => {
  const { ignored, start } = grammar
  const { firsts, places } = placesOf(grammar)
  const columns: Array<Column | undefined> = []

  const add = (index: number, place: number, origin: number): void => {
    const column: Column = columns[index] ?? { items: [], known: new Set(), ends: new Map() }
    columns[index] = column
    const key = place * (text.length + 1) + origin
    // Ambiguous grammars find most items many times.
    spend(work, 1)
    if (column.known.has(key)) return
    column.known.add(key)
    column.items.push({ place, origin })
  }

  const afterIgnored = (index: number): ReadonlySet<number> => {
    const here = new Set([index])
    if (ignored === null) return here
    return endsOf({ type: "repeat", item: ignored, min: 0, max: Number.POSITIVE_INFINITY }, text, here, work)
  }

  const endsAt = (column: Column, index: number, terminal: Terminal): ReadonlySet<number> => {
    const known = column.ends.get(terminal)
    if (known !== undefined) return known
    const ends = endsOf(terminal.pattern, text, afterIgnored(index), work)
    column.ends.set(terminal, ends)
    return ends
  }

  const wait = (column: Column, index: number, rule: string, item: Item): void => {
    column.waiting ??= new Map()
    const waiting = column.waiting.get(rule)
    if (waiting === undefined) {
      column.waiting.set(rule, [item])
      for (const first of firsts.get(rule) ?? []) add(index, first, index)
    } else waiting.push(item)
    if (column.empty?.has(rule) === true) add(index, item.place + 1, item.origin)
  }

  const complete = (column: Column, index: number, rule: string, origin: number): void => {
    if (origin === index) column.empty = (column.empty ?? new Set()).add(rule)
    for (const item of columns[origin]?.waiting?.get(rule) ?? []) add(index, item.place + 1, item.origin)
  }

  let last: Column | null = null
  let at = 0
  for (const first of firsts.get(start) ?? []) add(0, first, 0)
  for (let index = 0; index <= text.length; index++) {
    const column = columns[index]
    if (column === undefined) continue
    last = column
    at = index
    // The loop also visits items that are added during it.
    for (const item of column.items) {
      const place = places[item.place]
      if (place === undefined) continue
      const { next, rule } = place
      if (next === null) {
        if (rule === start && item.origin === 0 && afterIgnored(index).has(text.length)) return null
        complete(column, index, rule, item.origin)
      } else if (typeof next === "string") wait(column, index, next, item)
      else for (const end of endsAt(column, index, next)) add(end, item.place + 1, item.origin)
    }
    // No later item refers to this column.
    if (column.waiting === undefined) columns[index] = undefined
  }
  const expected = [...(last?.ends.keys() ?? [])].map(({ label }) => label)
  return { at, expected: [...new Set(expected)].slice(0, expectedMax) }
}
