import { withoutAccents } from "../analysis/Words.ts"
import { frequencyFactor, type QueryTerm } from "./Ranking.ts"

/**
 * Shares of the weight of two consecutive words of a question that a passage gains if it has them side by
 * side, or near each other.
 */
const adjacentShare = 0.2
const nearShare = 0.1
/** Words of the passage from one to the other. */
const nearWordsMax = 8
/** Longest ending that a form of a word may have after its stem. */
const endingCharactersMax = 5

const wordPattern = /[\p{L}\p{M}\p{N}]+/gu
const folded = (text: string): string => withoutAccents(text.toLowerCase().normalize("NFKC"))

/** A word of a question, with the beginnings of its forms. */
interface Asked {
  readonly word: string
  readonly stems: ReadonlyArray<string>
  readonly weight: number
}

/** Two words that follow each other in the question, but for small ones between them. */
type Pair = readonly [Asked, Asked]

/** The pairs of a question's words, in the order of `words`, as far as the terms have them. */
export const pairsOf = (
  words: ReadonlyArray<string>,
  terms: ReadonlyArray<QueryTerm>
): ReadonlyArray<Pair> => {
  const asked = new Map<string, Asked & { readonly stems: Array<string> }>()
  for (const { term, weight, word } of terms) {
    const known = asked.get(word)
    if (known === undefined) asked.set(word, { word, stems: [term], weight })
    else known.stems.push(term)
  }
  const found = words.flatMap((word) => asked.get(word) ?? [])
  return found.slice(1).flatMap((word, at): ReadonlyArray<Pair> => {
    const before = found[at]
    return before === undefined || before === word ? [] : [[before, word]]
  })
}

const isForm = (word: string, { stems }: Asked): boolean =>
  stems.some((stem) => word.startsWith(stem) && word.length <= stem.length + endingCharactersMax)

/** Score that a passage gains by two words that it has near each other. */
export interface Gain {
  /** Both, with a space between them. */
  readonly term: string
  readonly score: number
}

/**
 * Returns what a text gains by each pair of consecutive words of the question that it has near each other.
 */
export const gainsOf = (text: string, pairs: ReadonlyArray<Pair>): ReadonlyArray<Gain> => {
  if (pairs.length === 0) return []
  const words = [...new Set(pairs.flat())]
  const places = new Map<Asked, Array<number>>(words.map((word) => [word, []]))
  let position = 0
  for (const found of folded(text).match(wordPattern) ?? []) {
    for (const word of words) if (isForm(found, word)) places.get(word)?.push(position)
    position++
  }
  return pairs.flatMap(([one, other]): ReadonlyArray<Gain> => {
    const distance = nearest(places.get(one) ?? [], places.get(other) ?? [])
    if (distance > nearWordsMax) return []
    const share = distance === 1 ? adjacentShare : nearShare
    const score = share * Math.min(one.weight, other.weight) * frequencyFactor
    return [{ term: `${one.word} ${other.word}`, score }]
  })
}

/** The least distance of a place of one word to one of another, both in order. */
const nearest = (ones: ReadonlyArray<number>, others: ReadonlyArray<number>): number => {
  let least = Number.POSITIVE_INFINITY
  let at = 0
  for (const one of ones) {
    while (at + 1 < others.length && (others[at] ?? 0) < one) at++
    for (const other of others.slice(Math.max(0, at - 1), at + 1)) {
      if (other !== one) least = Math.min(least, Math.abs(other - one))
    }
  }
  return least
}
