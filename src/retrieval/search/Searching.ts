import { Effect } from "effect"
import type { FileId, ProjectId } from "../../domain/Ids.ts"
import type { Analysis, QueryWord } from "../analysis/Analysis.ts"
import { fuse, comparedMax, type Semantic } from "../vectors/Semantic.ts"
import type { Vector } from "../vectors/VectorTable.ts"
import {
  aboveFloor,
  candidatesMax,
  tellingTerms,
  joinNeighbors,
  type Joined,
  type Scored,
  withoutRepetitions,
  type Collection,
  type FoundWord,
  frequencyFactor,
  queryTerms,
  type QueryTerm,
  saturationOf,
  scoreMax
} from "./Ranking.ts"
import type { Candidate, Passage, Place, SearchTable } from "./SearchTable.ts"
import { correctedCharactersMin, correctionsMax, lengthsOf, nearestOf } from "./Spelling.ts"

/** Words of a question that are corrected; and terms that are looked through for one. */
const correctedWordsMax = 8
const neighborsMax = 20_000
/** Letters at the start of a word that are taken to be right, so that few terms need to be looked through. */
const prefixCharacters = 1
/** Chunks that are looked at for each hit that is wanted: some are joined, and some repeat others. */
const chunksPerHit = 3
/** Hits whose texts are read for each that is wanted. */
const textsPerHit = 1.5

export interface Query {
  readonly text: string
  /** Hits at most. */
  readonly limit: number
}

/** A passage of a file that answers a query. Offsets are in UTF-16 code units of the file's text. */
export interface Hit {
  readonly fileId: FileId
  readonly filename: string
  readonly start: number
  readonly end: number
  /** Counted from one; null for a file without pages. */
  readonly page: number | null
  /** The headings above the passage, outermost first. */
  readonly headings: ReadonlyArray<string>
  /** The file's text from `start` to `end`, unchanged. */
  readonly text: string
  readonly score: number
}

export interface Found {
  /** Best first. */
  readonly hits: ReadonlyArray<Hit>
  /** Why there are no hits; null when there are. */
  readonly nothing: null | "no_files" | "still_indexing" | "no_match"
}

export interface Explained extends Found {
  readonly chunks: number
  readonly languages: ReadonlyArray<string>
  readonly terms: ReadonlyArray<QueryTerm>
  /** For each hit, in the order of `hits`, what each term adds to its score, largest first. */
  readonly contributions: ReadonlyArray<ReadonlyArray<{ readonly term: string; readonly score: number }>>
}

interface Index extends Collection {
  readonly id: number
  readonly languages: ReadonlyArray<string>
}

interface ByWords {
  readonly scored: ReadonlyArray<Scored>
  /** The first of them. */
  readonly telling: ReadonlyArray<Scored>
}

interface Ranked {
  readonly terms: ReadonlyArray<QueryTerm>
  readonly hits: ReadonlyArray<{ readonly hit: Hit; readonly positions: ReadonlyArray<number> }>
}

const nothingRanked: Ranked = { terms: [], hits: [] }

/** A word that the index doesn't have, with the terms that it may have been meant for. */
const correct = Effect.fnUntraced(function* (table: SearchTable, index: Index, word: QueryWord) {
  const forms = [...new Set([...word.terms, word.text])]
  const like = { prefix: word.text.slice(0, prefixCharacters), ...lengthsOf(forms) }
  const near = nearestOf(forms, yield* table.neighbors(index.id, like, neighborsMax))
  if (near === null) return undefined
  // Of terms that are as near, people mean the frequent ones.
  const counted = yield* table.frequencies(index.id, near.terms)
  const frequent = counted.toSorted((one, other) => other.chunks - one.chunks).slice(0, correctionsMax)
  return { ...word, edits: near.edits, terms: frequent.map(({ term }) => term) }
})

/** The words with the terms that the index has of them, those that it hasn't at all corrected, and how many hold each. */
const lookUp = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  words: ReadonlyArray<QueryWord>
) {
  const frequencies = new Map<string, number>()
  const count = Effect.fnUntraced(function* (some: ReadonlyArray<QueryWord>) {
    const terms = [...new Set(some.flatMap((word) => word.terms))]
    for (const { chunks, term } of yield* table.frequencies(index.id, terms)) frequencies.set(term, chunks)
  })
  yield* count(words)
  const isKnown = ({ terms }: QueryWord) => terms.some((term) => frequencies.has(term))
  const unknown = words.filter((word) => !isKnown(word) && word.text.length >= correctedCharactersMin)
  const corrected = yield* Effect.forEach(unknown.slice(0, correctedWordsMax), (word) =>
    correct(table, index, word)
  )
  const found = corrected.filter((word) => word !== undefined)
  if (found.length > 0) yield* count(found)
  const known = words.filter(isKnown).map((word): FoundWord => ({ ...word, edits: 0 }))
  return {
    words: [...known, ...found],
    frequencies,
    unknownWords: words.length - known.length - found.length
  }
})

/** The best chunks, best first: exactly in small collections, and in large ones nearly always. */
const candidatesOf = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  terms: ReadonlyArray<QueryTerm>,
  limit: number
) {
  const weighted = terms.map(({ term, weight }) => ({ term, weight: weight * frequencyFactor }))
  const saturation = saturationOf(index)
  const rare = weighted.slice(0, tellingTerms(terms))
  const common = weighted.slice(rare.length)
  const best = yield* table.best(index.id, rare, saturation, limit)
  if (common.length === 0) return best
  const scores = new Map(best.map(({ position, score }) => [position, score]))
  const positions = best.map(({ position }) => position)
  for (const { position, score } of yield* table.contributions(index.id, common, saturation, positions)) {
    scores.set(position, (scores.get(position) ?? 0) + score)
  }
  return [...scores]
    .map(([position, score]): Candidate => ({ position, score }))
    .toSorted((one, other) => other.score - one.score || one.position - other.position)
})

/** The best chunks of files that still exist. */
const scoredOf = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  terms: ReadonlyArray<QueryTerm>,
  wanted: number
) {
  for (let limit = candidatesMax; ; limit *= 8) {
    const candidates = yield* candidatesOf(table, index, terms, limit)
    const scores = new Map(candidates.map(({ position, score }) => [position, score]))
    for (let from = 0; from < candidates.length; from += wanted) {
      const positions = candidates.slice(from, from + wanted).map(({ position }) => position)
      const places = yield* table.places(index.id, positions)
      if (places.length > 0) {
        return places.map((place): Scored => ({ ...place, score: scores.get(place.position) ?? 0 }))
      }
    }
    if (candidates.length < limit) return []
  }
})

/** The best chunks by words, best first; of them, `telling` have enough of the words. */
const byWords = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  asked: ReadonlyArray<QueryWord>,
  wanted: number
) {
  const { frequencies, unknownWords, words } = yield* lookUp(table, index, asked)
  const terms = queryTerms(words, frequencies, index)
  const scored = terms.length === 0 ? [] : yield* scoredOf(table, index, terms, wanted)
  return { terms, scored, telling: aboveFloor(scored, scoreMax(terms, unknownWords, index)) }
})

/** The chunks in the order of words and of meaning together, and with those that only mean what is asked for. */
const withMeaning = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  { scored, telling }: ByWords,
  { compare }: Semantic,
  vector: Vector
) {
  const lexical = telling.map(({ position }) => position)
  const others = scored.slice(telling.length).map(({ position }) => position)
  const cosines = yield* compare(index, lexical, others, vector)
  if (cosines.size === 0) return telling
  const known = new Map<number, Place>(scored.map((one) => [one.position, one]))
  const unknown = [...cosines.keys()].filter((position) => !known.has(position))
  for (const place of yield* table.places(index.id, unknown)) known.set(place.position, place)
  return fuse(lexical, cosines).flatMap(({ position, score }): ReadonlyArray<Scored> => {
    const place = known.get(position)
    return place === undefined ? [] : [{ ...place, score }]
  })
})

/** Why a search in the project finds nothing. */
const reasonOf = Effect.fnUntraced(function* (table: SearchTable, projectId: ProjectId) {
  const { files, pending } = yield* table.corpus(projectId)
  if (!files) return "no_files" as const
  return pending ? ("still_indexing" as const) : ("no_match" as const)
})

/** What each term adds to the score of each hit. */
const contributionsOf = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  { hits, terms }: Ranked
) {
  if (hits.length === 0) return []
  const weighted = terms.map(({ term, weight }) => ({ term, weight: weight * frequencyFactor }))
  const held = hits.flatMap(({ positions }) => positions)
  const parts = yield* table.contributions(index.id, weighted, saturationOf(index), held)
  return hits.map(({ positions }) =>
    parts
      .filter(({ position }) => positions.includes(position))
      .map(({ score, term }) => ({ term, score }))
      .toSorted((one, other) => other.score - one.score)
  )
})

/** The search by words; and by meaning, unless `semantic` is null. */
export const makeSearching = (analysis: Analysis, table: SearchTable, semantic: Semantic | null) => {
  const ranked = Effect.fnUntraced(function* (index: Index, { limit, text }: Query) {
    const asked = yield* analysis.query(text, index.languages)
    if (asked.length === 0 || limit < 1 || index.chunks === 0) return nothingRanked
    const wanted = Math.ceil(limit * chunksPerHit)
    const [found, vector] = yield* Effect.all(
      [
        byWords(table, index, asked, semantic === null ? wanted : Math.max(wanted, comparedMax)),
        semantic === null ? Effect.succeed(null) : semantic.question(text)
      ],
      { concurrency: 2 }
    )
    const { terms } = found
    const best =
      semantic === null || vector === null
        ? found.telling
        : yield* withMeaning(table, index, found, semantic, vector)
    const joined = joinNeighbors(best.slice(0, wanted)).slice(0, Math.ceil(limit * textsPerHit))
    const bases = new Set(joined.flatMap(({ parts }) => parts.map(({ base }) => base)))
    const passages = yield* table.passages(index.id, [...bases])
    const hits = joined.map((one) => {
      const hit = hitOf(one, passages)
      return { hit, text: hit.text, positions: one.parts.map(({ position }) => position) }
    })
    return { terms, hits: withoutRepetitions(hits).slice(0, limit) }
  })

  const search = Effect.fnUntraced(function* (projectId: ProjectId, query: Query) {
    const index = yield* table.index(projectId)
    const { hits } = index === undefined ? nothingRanked : yield* ranked(index, query)
    const found: Found = {
      hits: hits.map(({ hit }) => hit),
      nothing: hits.length > 0 ? null : yield* reasonOf(table, projectId)
    }
    return found
  })

  const explain = Effect.fnUntraced(function* (projectId: ProjectId, query: Query) {
    const index = yield* table.index(projectId)
    const found = index === undefined ? nothingRanked : yield* ranked(index, query)
    const explained: Explained = {
      hits: found.hits.map(({ hit }) => hit),
      nothing: found.hits.length > 0 ? null : yield* reasonOf(table, projectId),
      chunks: index?.chunks ?? 0,
      languages: index?.languages ?? [],
      terms: found.terms,
      contributions: index === undefined ? [] : yield* contributionsOf(table, index, found)
    }
    return explained
  })

  return { search, explain }
}

/** A passage from its parts, whose texts may stand in several rows. */
const hitOf = ({ parts, score }: Joined, passages: ReadonlyArray<Passage>): Hit => {
  const [{ fileId, filename, headings, page, start }] = parts
  let text = ""
  for (const part of parts) {
    const passage = passages.find(({ base }) => base === part.base)
    const from = start + text.length
    if (passage !== undefined)
      text += passage.text.slice(from - passage.textStart, part.end - passage.textStart)
  }
  return { fileId, filename, start, end: start + text.length, page, headings, text, score }
}
