import { Effect } from "effect"
import type { ProjectId } from "../../domain/Ids.ts"
import type { Analysis, AnalyzedQuery } from "../analysis/Analysis.ts"
import { fuse, comparedMax, type Semantic } from "../vectors/Semantic.ts"
import type { Vector } from "../vectors/VectorTable.ts"
import { withBesides } from "./Besides.ts"
import { type Hit, hitOf } from "./Hit.ts"
import { type Gain, gainsOf, pairsOf } from "./Proximity.ts"
import {
  aboveFloor,
  candidatesMax,
  tellingTerms,
  joinNeighbors,
  withoutRepetitions,
  frequencyFactor,
  queryTerms,
  type QueryTerm,
  saturationOf,
  scoreMax
} from "./Ranking.ts"
import type { Place, Scored, SearchTable } from "./SearchTable.ts"
import { type Index, lookUp } from "./WordLookup.ts"

/** Chunks that are looked at for each hit that is wanted: some are joined, and some repeat others. */
const chunksPerHit = 3
/** Hits whose texts are read for each that is wanted. */
const textsPerHit = 1.5

export interface Query {
  readonly text: string
  /** Hits at most. */
  readonly limit: number
  /**
   * Characters of text that are wanted. What the hits leave of them goes to the rest of the project if all of it has room, and else to
   * what stands before and behind the hits.
   */
  readonly characters?: number
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
  /** For each hit, in the order of `hits`, what each term adds to its score, and each pair of words near each other, largest first. */
  readonly contributions: ReadonlyArray<ReadonlyArray<{ readonly term: string; readonly score: number }>>
}

interface ByWords {
  readonly scored: ReadonlyArray<Scored>
  /** The first of them. */
  readonly telling: ReadonlyArray<Scored>
}

interface RankedHit {
  readonly hit: Hit
  readonly positions: ReadonlyArray<number>
  /** Of their scores, what counts. */
  readonly share: number
  readonly gains: ReadonlyArray<Gain>
}

interface Ranked {
  readonly terms: ReadonlyArray<QueryTerm>
  readonly hits: ReadonlyArray<RankedHit>
}

const nothingRanked: Ranked = { terms: [], hits: [] }

/** How many times as many candidates are looked at when none of them is of a file that still exists. */
const candidatesGrowth = 8

/** Of its score, what a chunk keeps whose file is in another language than the question. */
const otherLanguageShare = 0.8
const shareOf = (place: Place, language: string | null): number =>
  language === null || place.language === language ? 1 : otherLanguageShare

/** The best chunks of files that still exist: exactly in small collections, and in large ones nearly always. */
const scoredOf = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  terms: ReadonlyArray<QueryTerm>,
  language: string | null,
  wanted: number
) {
  const weighted = terms.map(({ term, weight }) => ({ term, weight: weight * frequencyFactor }))
  const telling = tellingTerms(terms)
  const parts = { rare: weighted.slice(0, telling), common: weighted.slice(telling) }
  const saturation = saturationOf(index)
  const postings = terms.reduce((sum, { chunks }) => sum + chunks, 0)
  let candidates = candidatesMax
  let limit = wanted
  while (true) {
    const found = yield* table.best(index.id, parts, saturation, { candidates, limit })
    if (found.length > 0) {
      return found
        .map((one): Scored => ({ ...one, score: one.score * shareOf(one, language) }))
        .toSorted((one, other) => other.score - one.score || one.position - other.position)
    }
    // They may all be of deleted files, which are not removed yet.
    if (limit >= postings) return []
    if (limit === candidates) candidates *= candidatesGrowth
    limit = candidates
  }
})

/** The best chunks by words, best first; of them, `telling` have enough of the words. */
const byWords = Effect.fnUntraced(function* (
  analysis: Analysis,
  table: SearchTable,
  index: Index,
  { language, words: asked }: AnalyzedQuery,
  wanted: number
) {
  const { frequencies, unknownWords, words } = yield* lookUp(analysis, table, index, asked, language)
  const terms = queryTerms(words, frequencies, index)
  const scored = terms.length === 0 ? [] : yield* scoredOf(table, index, terms, language, wanted)
  return { terms, scored, telling: aboveFloor(scored, scoreMax(terms, unknownWords, index)) }
})

/** Chunks, best first. */
interface Ordered {
  readonly scored: ReadonlyArray<Scored>
  /** What a score by words is multiplied by in theirs. */
  readonly scale: number
}

const byWordsAlone = ({ telling }: Pick<ByWords, "telling">): Ordered => ({ scored: telling, scale: 1 })

/** The chunks in the order of words and of meaning together, and with those that only mean what is asked for. */
const withMeaning = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Index,
  { scored, telling }: ByWords,
  { compare, weight }: Semantic,
  vector: Vector
) {
  const lexical = telling.map(({ position }) => position)
  const others = scored.slice(telling.length).map(({ position }) => position)
  const cosines = yield* compare(index, lexical, others, vector)
  if (cosines.size === 0) return byWordsAlone({ telling })
  const known = new Map<number, Place>(scored.map((one) => [one.position, one]))
  const unknown = [...cosines.keys()].filter((position) => !known.has(position))
  for (const place of yield* table.places(index.id, unknown)) known.set(place.position, place)
  const { fused, scale } = fuse(telling, cosines, weight)
  return {
    scale,
    scored: fused.flatMap(({ position, score }): ReadonlyArray<Scored> => {
      const place = known.get(position)
      return place === undefined ? [] : [{ ...place, score }]
    })
  } satisfies Ordered
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
  return hits.map(({ gains, positions, share }) =>
    parts
      .filter(({ position }) => positions.includes(position))
      .map(({ score, term }) => ({ term, score: score * share }))
      .concat(gains)
      .toSorted((one, other) => other.score - one.score)
  )
})

/** The search by words; and by meaning, unless `semantic` is null. */
export const makeSearching = (analysis: Analysis, table: SearchTable, semantic: Semantic | null) => {
  const ranked = Effect.fnUntraced(function* (index: Index, { limit, text }: Query) {
    const asked = yield* analysis.query(text, index.languages)
    if (asked.words.length === 0 || limit < 1 || index.chunks === 0) return nothingRanked
    const wanted = Math.ceil(limit * chunksPerHit)
    const [found, vector] = yield* Effect.all(
      [
        byWords(analysis, table, index, asked, semantic === null ? wanted : Math.max(wanted, comparedMax)),
        semantic === null ? Effect.succeed(null) : semantic.question(text)
      ],
      { concurrency: 2 }
    )
    const { terms } = found
    const { scale, scored } =
      semantic === null || vector === null
        ? byWordsAlone(found)
        : yield* withMeaning(table, index, found, semantic, vector)
    const joined = joinNeighbors(scored.slice(0, wanted)).slice(0, Math.ceil(limit * textsPerHit))
    const bases = new Set(joined.flatMap(({ parts }) => parts.map(({ base }) => base)))
    const passages = yield* table.passages(index.id, [...bases])
    const pairs = pairsOf(
      asked.words.map((word) => word.text),
      terms
    )
    const hits = joined
      .map((one) => {
        const hit = hitOf(one, passages)
        const share = scale * shareOf(one.parts[0], asked.language)
        const gains = gainsOf(hit.text, pairs).map((gain) => ({ ...gain, score: gain.score * share }))
        const score = gains.reduce((sum, gain) => sum + gain.score, hit.score)
        const positions = one.parts.map(({ position }) => position)
        return { hit: { ...hit, score }, text: hit.text, positions, share, gains }
      })
      .toSorted((one, other) => other.hit.score - one.hit.score)
    return { terms, hits: withoutRepetitions(hits, limit) }
  })

  const search = Effect.fnUntraced(function* (projectId: ProjectId, query: Query) {
    const index = yield* table.index(projectId)
    const { hits: best } = index === undefined ? nothingRanked : yield* ranked(index, query)
    const hits = index === undefined ? [] : yield* withBesides(table, index, best, query.characters ?? 0)
    const found: Found = { hits, nothing: hits.length > 0 ? null : yield* reasonOf(table, projectId) }
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
