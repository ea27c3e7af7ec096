import type { QueryWord } from "../analysis/Analysis.ts"
import type { Saturation, Weighted, Place } from "./SearchTable.ts"

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

/** The most selective terms, rarest first. */
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
      // Two words with one stem count as one term twice.
      if (known === undefined) terms.set(term, { term, word: text, edits, chunks: holding, idf, weight })
      else terms.set(term, { ...known, weight: known.weight + weight })
    }
  }
  return [...terms.values()]
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, termsMax)
    .toSorted((one, other) => one.chunks - other.chunks)
}

/** Chunks whose scores are added up, counted for each term; further terms only add to the scores of those found so far. */
const postingsMax = 20_000
/** The same, while there are fewer candidates than are kept. */
const scarcePostingsMax = 100_000
/** Chunks that are kept of them. */
export const candidatesMax = 500
/** How many of the terms, of which the rarest come first, are added up for all chunks that hold them. */
export const tellingTerms = (terms: ReadonlyArray<QueryTerm>): number => {
  let postings = 0
  const rest = terms.findIndex(({ chunks }) => {
    const max = postings < candidatesMax ? scarcePostingsMax : postingsMax
    postings += chunks
    return postings > max
  })
  return rest === -1 ? terms.length : Math.max(rest, 1)
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

/** Words of a question by which the relevance of a chunk is judged: more are rarely in one place. */
const tellingWordsMax = 6
/** Among fewer chunks the frequency of a word means little, and nothing counts as noise. */
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

/** A chunk with its score. */
export interface Scored extends Place {
  readonly score: number
}

/** Chunks of one file that follow each other, as one passage. */
export interface Joined {
  /** In the order of the file. */
  readonly parts: readonly [Scored, ...Array<Scored>]
  /** That of the best of them. */
  readonly score: number
}

/** Chunks in a passage. */
const partsMax = 2
/** Of the score of its neighbor, what a chunk must have to be put to it; a weaker one stands for itself. */
const shareOfNeighborMin = 0.65

/** Puts chunks that follow each other together, at the place of the best; `scored` has the best first. */
export const joinNeighbors = (scored: ReadonlyArray<Scored>): ReadonlyArray<Joined> => {
  const joined: Array<{ parts: [Scored, ...Array<Scored>]; readonly score: number }> = []
  const placeOf = new Map<number, (typeof joined)[number]>()
  for (const one of scored) {
    const near = [placeOf.get(one.position - 1), placeOf.get(one.position + 1)].find(
      (group) =>
        group !== undefined &&
        group.parts.length < partsMax &&
        group.parts[0].fileId === one.fileId &&
        one.score >= group.score * shareOfNeighborMin
    )
    if (near === undefined) {
      const group = { parts: [one] as [Scored, ...Array<Scored>], score: one.score }
      joined.push(group)
      placeOf.set(one.position, group)
    } else {
      if (one.position < near.parts[0].position) near.parts.unshift(one)
      else near.parts.push(one)
      placeOf.set(one.position, near)
    }
  }
  return joined
}

/** Of the best score, what a chunk must reach to be worth reading beside it. */
const shareOfBestMin = 0.1
/** Of the score that a chunk could have at most, what it must reach to be more than noise: it has a rare word, or several. */
const shareOfMaxMin = 0.1

/** Leaves out what is far below the best, or hardly relevant; `scored` has the best first. */
export const aboveFloor = (scored: ReadonlyArray<Scored>, scoreMax: number): ReadonlyArray<Scored> => {
  const floor = Math.max((scored[0]?.score ?? 0) * shareOfBestMin, scoreMax * shareOfMaxMin)
  return scored.filter(({ score }) => score >= floor)
}

/** Words that two passages share, as a part of all words of both, from which on they are repetitions. */
const likenessMax = 0.9

const word = /[\p{L}\p{N}]+/gu

/** Leaves out what nearly repeats something better before it. */
export const withoutRepetitions = <A extends { readonly text: string }>(
  passages: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const kept: Array<{ readonly passage: A; readonly words: ReadonlySet<string> }> = []
  for (const passage of passages) {
    const words = new Set(passage.text.toLowerCase().match(word))
    if (!kept.some((other) => likeness(words, other.words) >= likenessMax)) kept.push({ passage, words })
  }
  return kept.map(({ passage }) => passage)
}

const likeness = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  const [few, many] = one.size < other.size ? [one, other] : [other, one]
  // As many of the words as there can be in both.
  if (few.size < many.size * likenessMax) return 0
  let shared = 0
  for (const each of few) if (many.has(each)) shared++
  const all = one.size + other.size - shared
  return all === 0 ? 0 : shared / all
}
