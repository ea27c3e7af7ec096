import type { QueryWord } from "../analysis/Analysis.ts"
import type { Place, Saturation, Scored, Weighted } from "./SearchTable.ts"

/** Okapi BM25's two constants, chosen on several collections: docs/decisions/ranking.md. */
const saturationOfFrequency = 1.5
const influenceOfLength = 0.7

/**
 * Words of a question that are looked for; and terms of all of them, of which a word may have one in each
 * language.
 */
export const wordsMax = 24
const termsMax = 240

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
  /** Chunks that hold the word by any of its terms. */
  readonly chunks: number
  readonly idf: number
  /** True for a term of the word itself; false for a term of a part or of a compound. */
  readonly isWhole: boolean
}

/** The inverse document frequency: the logarithm of the odds against a term, never negative. */
export const idfOf = (chunks: number, holding: number): number =>
  Math.log(1 + (Math.max(chunks, holding) - holding + 0.5) / (holding + 0.5))

/** A word that had to be corrected counts for less with every letter. */
const weightOfEdits = [1, 0.9, 0.8]

/** A word that is said often counts for more, but never for more than this times as much, as in BM25. */
const repeatedMax = 2.2
const weightOfCount = (count: number): number => (count * repeatedMax) / (count + repeatedMax - 1)

/**
 * The most selective words, rarest first, by their terms. A word counts once, in however many languages it
 * has a term: a form that is rare because few texts are of its language doesn't make the word a rare one.
 */
export const queryTerms = (
  words: ReadonlyArray<FoundWord>,
  frequencies: ReadonlyMap<string, number>,
  { chunks }: Collection
): ReadonlyArray<QueryTerm> => {
  const weighed = words.flatMap(({ count, edits, share, terms, text }) => {
    const known = terms.filter((term) => frequencies.has(term))
    const holding = Math.min(
      known.reduce((sum, term) => sum + (frequencies.get(term) ?? 0), 0),
      chunks
    )
    if (holding === 0) return []
    const idf = idfOf(chunks, holding)
    const weight = weightOfCount(count) * idf * (weightOfEdits[edits] ?? 0) * (share ?? 1)
    return [
      { known, weight, about: { word: text, edits, chunks: holding, idf, isWhole: share === undefined } }
    ]
  })
  const rarest = weighed
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, wordsMax)
    .toSorted((one, other) => one.about.chunks - other.about.chunks)
  const terms = new Map<string, QueryTerm>()
  for (const { about, known, weight } of rarest) {
    for (const term of known) {
      // Two words with one stem count as one term twice.
      const before = terms.get(term)
      terms.set(
        term,
        before === undefined ? { ...about, term, weight } : { ...before, weight: before.weight + weight }
      )
    }
  }
  return [...terms.values()].slice(0, termsMax)
}

/**
 * Chunks whose scores are added up, counted for each term; further terms only add to the scores of those
 * found so far.
 */
const postingsMax = 20_000
/** The same bound while there are fewer candidates than are kept. */
const scarcePostingsMax = 100_000
/** Chunks that are kept as candidates. */
export const candidatesMax = 500
/**
 * Returns the number of leading terms, rarest first, whose scores are added up for every chunk that holds
 * them.
 */
export const discriminativeTerms = (terms: ReadonlyArray<QueryTerm>): number => {
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

/** Factor of every term's part of a score. */
export const frequencyFactor = saturationOfFrequency + 1

/** Words of a question by which the relevance of a chunk is judged: more are rarely in one place. */
const discriminativeWordsMax = 6
/** Among fewer chunks the frequency of a word means little, and nothing counts as noise. */
const judgedChunksMin = 100

/** The weights of the words that the index has. */
const knownWeights = (terms: ReadonlyArray<QueryTerm>): ReadonlyArray<number> => [
  ...new Map(terms.flatMap(({ isWhole, weight, word }) => (isWhole ? [[word, weight]] : []))).values()
]

/** The weights of the most discriminative words, including words that the index doesn't have. */
const discriminativeWeights = (known: ReadonlyArray<number>, unknownWords: number, ofUnknown: number) =>
  [...known, ...Array.from({ length: unknownWords }, () => ofUnknown)]
    .toSorted((one, other) => other - one)
    .slice(0, discriminativeWordsMax)

/**
 * About what a chunk would score that is all about the question; words that the index doesn't have count as
 * rare ones.
 */
export const scoreMax = (
  terms: ReadonlyArray<QueryTerm>,
  unknownWords: number,
  { chunks }: Collection
): number => {
  if (chunks < judgedChunksMin) return 0
  return discriminativeWeights(knownWeights(terms), unknownWords, idfOf(chunks, 0)).reduce(
    (sum, weight) => sum + weight * frequencyFactor,
    0
  )
}

/**
 * About what a chunk of the usual length scores that says each of the question's words once. Words that the
 * index doesn't have count as the others do on average: among few chunks, rare ones would count more than all
 * others together.
 */
export const discriminativeWeight = (terms: ReadonlyArray<QueryTerm>, unknownWords: number): number => {
  const known = knownWeights(terms)
  const average = known.reduce((sum, weight) => sum + weight, 0) / Math.max(known.length, 1)
  return discriminativeWeights(known, unknownWords, average).reduce((sum, weight) => sum + weight, 0)
}

/** A score by words from 0 to 1: 0.5 for half of that weight, and two thirds for all of it. */
export const shareOfScore = (score: number, weight: number): number =>
  score <= 0 ? 0 : score / (score + weight / 2)

/** Chunks of one file that follow each other, as one passage. */
export interface Joined {
  /** Parts in the order of the file. */
  readonly parts: readonly [Scored, ...Array<Scored>]
  /** Score of the best part. */
  readonly score: number
}

/** Chunks in a passage. */
const partsMax = 2
/** Share of its neighbor's score from which on a chunk joins it; a weaker chunk stands for itself. */
const shareOfNeighborMin = 0.65

/** Tells whether two chunks are of one page and section, so that a passage of both can name these. */
const isSamePlace = (one: Place, other: Place): boolean =>
  one.fileId === other.fileId &&
  one.page === other.page &&
  one.headings.join("\n") === other.headings.join("\n")

/** Puts chunks that follow each other together, at the place of the best; `scored` has the best first. */
export const joinNeighbors = (scored: ReadonlyArray<Scored>): ReadonlyArray<Joined> => {
  const joined: Array<{ parts: [Scored, ...Array<Scored>]; readonly score: number }> = []
  const placeOf = new Map<number, (typeof joined)[number]>()
  for (const one of scored) {
    const near = [placeOf.get(one.position - 1), placeOf.get(one.position + 1)].find(
      (group) =>
        group !== undefined &&
        group.parts.length < partsMax &&
        isSamePlace(group.parts[0], one) &&
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

/** Share of the best score that a chunk must reach to be worth reading. */
const shareOfBestMin = 0.1
/** Share of the greatest possible score below which a chunk is noise: it lacks rare words. */
const shareOfMaxMin = 0.1

/** Leaves out what is far below the best, or hardly relevant; `scored` has the best first. */
export const aboveFloor = (scored: ReadonlyArray<Scored>, scoreMax: number): ReadonlyArray<Scored> => {
  const floor = Math.max((scored[0]?.score ?? 0) * shareOfBestMin, scoreMax * shareOfMaxMin)
  return scored.filter(({ score }) => score >= floor)
}

/** Words that two passages share, as a part of all words of both, from which on they are repetitions. */
const likenessMax = 0.9
const roundingMax = 1e-9

const word = /[\p{L}\p{N}]+/gu

/** The first ones, so many at most, without what nearly repeats something better before it. */
export const withoutRepetitions = <A extends { readonly text: string }>(
  passages: ReadonlyArray<A>,
  limit: number
): ReadonlyArray<A> => {
  const kept: Array<{ readonly passage: A; readonly words: ReadonlySet<string> }> = []
  for (const passage of passages) {
    if (kept.length >= limit) break
    const words = new Set(passage.text.toLowerCase().match(word))
    if (!kept.some((other) => areAlike(words, other.words))) kept.push({ passage, words })
  }
  return kept.map(({ passage }) => passage)
}

const areAlike = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean => {
  const [few, many] = one.size < other.size ? [one, other] : [other, one]
  const all = few.size + many.size
  // They share s words, of `all - s` that either has. Most passages soon lack more of the other's than they
  // may.
  const sharedMin = Math.ceil((all * likenessMax) / (1 + likenessMax) - roundingMax)
  let missing = few.size - sharedMin
  if (all === 0 || missing < 0) return false
  for (const each of few) if (!many.has(each) && --missing < 0) return false
  return true
}
