import type { QueryWord } from "../analysis/Analysis.ts"
import type { Saturation, Weighted } from "./SearchTable.ts"

/** Okapi BM25's two constants, as most search engines have them. */
const saturationOfFrequency = 1.2
const influenceOfLength = 0.75

/** Terms of a question that are looked for. */
export const termsMax = 24

/** The chunks that a search is among. */
export interface Collection {
  readonly chunks: number
  /** Terms of all chunks together. */
  readonly tokens: number
}

/** A word of a question that the index knows by some term. */
export interface FoundWord extends QueryWord {
  /** Letters by which `terms` differ from the word. */
  readonly edits: number
}

/** A term that is looked for, and why. */
export interface QueryTerm extends Weighted {
  readonly word: string
  readonly edits: number
  readonly chunks: number
  readonly idf: number
}

/** How rare a term is: the logarithm of the odds against it, never negative. */
export const idfOf = (chunks: number, holding: number): number =>
  Math.log(1 + (Math.max(chunks, holding) - holding + 0.5) / (holding + 0.5))

/** A word that had to be corrected counts for less with every letter. */
const weightOfEdits = [1, 0.9, 0.8]

/** The terms that tell the most, rarest first. */
export const queryTerms = (
  words: ReadonlyArray<FoundWord>,
  frequencies: ReadonlyMap<string, number>,
  { chunks }: Collection
): ReadonlyArray<QueryTerm> => {
  const terms = new Map<string, QueryTerm>()
  for (const { count, edits, terms: own, text } of words) {
    for (const term of own) {
      const holding = frequencies.get(term) ?? 0
      if (holding === 0) continue
      const idf = idfOf(chunks, holding)
      const weight = count * idf * (weightOfEdits[edits] ?? 0)
      const known = terms.get(term)
      // Two words with one stem are one term that is said twice.
      if (known === undefined) terms.set(term, { term, word: text, edits, chunks: holding, idf, weight })
      else terms.set(term, { ...known, weight: known.weight + weight })
    }
  }
  return [...terms.values()]
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, termsMax)
    .toSorted((one, other) => one.chunks - other.chunks)
}

export const saturationOf = ({ chunks, tokens }: Collection): Saturation => {
  const average = Math.max(tokens / Math.max(chunks, 1), 1)
  return {
    base: saturationOfFrequency * (1 - influenceOfLength),
    perToken: (saturationOfFrequency * influenceOfLength) / average
  }
}

/** What every term's part of a score is multiplied by. */
export const frequencyFactor = saturationOfFrequency + 1

/** Words of a question by which it is judged whether a chunk says anything to it: more are rarely in one place. */
const tellingWordsMax = 6
/** Among fewer chunks it says little how many of them hold a word, and nothing counts as noise. */
const judgedChunksMin = 100

/** About what a chunk would score that is all about the question; words that the index doesn't have count as rare ones. */
export const scoreMax = (
  terms: ReadonlyArray<QueryTerm>,
  unknownWords: number,
  { chunks }: Collection
): number => {
  if (chunks < judgedChunksMin) return 0
  return [
    ...terms.map(({ weight }) => weight),
    ...Array.from({ length: unknownWords }, () => idfOf(chunks, 0))
  ]
    .toSorted((one, other) => other - one)
    .slice(0, tellingWordsMax)
    .reduce((sum, weight) => sum + weight * frequencyFactor, 0)
}
