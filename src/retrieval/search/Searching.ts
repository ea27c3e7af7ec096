import { Effect } from "effect"
import type { AttributeFilter } from "../../domain/FileAttributes.ts"
import type { ProjectId } from "../../domain/Ids.ts"
import type { Analysis, AnalyzedQuery } from "../analysis/Analysis.ts"
import { fuse, rerankMax, type Semantic } from "../vectors/Semantic.ts"
import type { Vector } from "../vectors/VectorTable.ts"
import { type Hit, hitOf } from "./Hit.ts"
import { type JointIndex, openIndexes } from "./JointIndex.ts"
import { addNeighbors } from "./Neighbors.ts"
import { type Gain, gainsOf, pairsOf } from "./Proximity.ts"
import {
  aboveFloor,
  candidatesMax,
  discriminativeTerms,
  joinNeighbors,
  withoutRepetitions,
  frequencyFactor,
  queryTerms,
  type QueryTerm,
  saturationOf,
  scoreMax,
  shareOfScore,
  discriminativeWeight
} from "./Ranking.ts"
import type { Place, Scored, SearchTable } from "./SearchTable.ts"
import { lookUp } from "./WordLookup.ts"

/** Chunks that are looked at for each hit that is wanted: some are joined, and some repeat others. */
const chunksPerHit = 3
/** Hits whose texts are read for each that is wanted. */
const textsPerHit = 1.5

export interface Query {
  readonly text: string
  /** Hits at most. */
  readonly limit: number
  /**
   * Characters of text that are wanted. What the hits leave of them goes to the rest of the project if all of
   * it has room, and else to what stands before and behind the hits.
   */
  readonly characters?: number
  /** Only files that match the filter are searched. */
  readonly filter?: AttributeFilter | null
  /**
   * Asks for hits with the attributes of their files, and with scores from 0 to 1 in place of those that only
   * one search can be compared by: a passage with half of what is asked for has about 0.5. Those below
   * `scoreMin` are no hits.
   */
  readonly rated?: { readonly scoreMin: number }
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
  /**
   * The parts of each hit's score, in the order of `hits`: by term and by pair of near words, largest first.
   */
  readonly contributions: ReadonlyArray<ReadonlyArray<{ readonly term: string; readonly score: number }>>
}

interface ByWords {
  readonly scored: ReadonlyArray<Scored>
  /** The first of them. */
  readonly telling: ReadonlyArray<Scored>
  /** Weight of the words that were asked for. */
  readonly weight: number
}

interface RankedHit {
  readonly hit: Hit
  readonly positions: ReadonlyArray<number>
  /** The share of the chunks' scores that counts. */
  readonly share: number
  readonly gains: ReadonlyArray<Gain>
}

interface Ranked {
  readonly terms: ReadonlyArray<QueryTerm>
  readonly hits: ReadonlyArray<RankedHit>
}

const nothingRanked: Ranked = { terms: [], hits: [] }

/** Growth of the number of candidates when all of them are of deleted files. */
const candidatesGrowth = 8

/** Share of its score that a chunk keeps if its file is in another language than the question. */
const otherLanguageShare = 0.8
const shareOf = (place: Place, language: string | null): number =>
  language === null || place.language === language ? 1 : otherLanguageShare

/**
 * The best chunks of files that still exist: exactly in small collections, and in large ones nearly always.
 */
const scoredOf = Effect.fnUntraced(function* (
  index: JointIndex,
  terms: ReadonlyArray<QueryTerm>,
  language: string | null,
  wanted: number
) {
  const weighted = terms.map(({ term, weight }) => ({ term, weight: weight * frequencyFactor }))
  const isFiltered = index.parts.some(({ filter }) => filter !== null)
  let telling = discriminativeTerms(terms)
  const saturation = saturationOf(index)
  const postings = terms.reduce((sum, { chunks }) => sum + chunks, 0)
  let candidates = candidatesMax
  let limit = wanted
  while (true) {
    const parts = { rare: weighted.slice(0, telling), common: weighted.slice(telling) }
    const found = yield* index.best(parts, saturation, { candidates, limit })
    if (isFiltered && found.length < wanted && telling < terms.length) {
      // The rare terms may all be in files that the filter leaves out.
      telling = terms.length
    } else if (found.length > 0) {
      return found
        .map((one): Scored => ({ ...one, score: one.score * shareOf(one, language) }))
        .toSorted((one, other) => other.score - one.score || one.position - other.position)
    } else {
      // They may all be of deleted files, which are not removed yet; with a filter it is far likelier that
      // there are none.
      if (limit >= postings || (isFiltered && candidates > candidatesMax)) return []
      if (isFiltered || limit === candidates) candidates *= candidatesGrowth
      limit = candidates
    }
  }
})

/** The best chunks by words, best first; of them, `telling` have enough of the words. */
const byWords = Effect.fnUntraced(function* (
  analysis: Analysis,
  index: JointIndex,
  { language, words: asked }: AnalyzedQuery,
  wanted: number
) {
  const { frequencies, unknownWords, words } = yield* lookUp(analysis, index, asked, language)
  const terms = queryTerms(words, frequencies, index)
  const scored = terms.length === 0 ? [] : yield* scoredOf(index, terms, language, wanted)
  return {
    terms,
    scored,
    telling: aboveFloor(scored, scoreMax(terms, unknownWords, index)),
    weight: discriminativeWeight(terms, unknownWords)
  }
})

/** Chunks, best first. */
interface Ordered {
  readonly scored: ReadonlyArray<Scored>
  /** Factor from a score by words to the scores here. */
  readonly scale: number
  /** Converts a score to a share of the greatest possible one. */
  readonly rate: (score: number) => number
}

const byWordsAlone = ({ telling, weight }: Pick<ByWords, "telling" | "weight">): Ordered => ({
  scored: telling,
  scale: 1,
  rate: (score) => shareOfScore(score, weight)
})

/**
 * The chunks in the order of words and of meaning together, and with those that only mean what is asked for.
 */
const withMeaning = Effect.fnUntraced(function* (
  index: JointIndex,
  { scored, telling, weight: asked }: ByWords,
  { compare, weight }: Semantic,
  vector: Vector
) {
  const lexical = telling.map(({ position }) => position)
  const others = scored.slice(telling.length).map(({ position }) => position)
  const cosines = yield* compare(index, lexical, others, vector)
  if (cosines.size === 0) return byWordsAlone({ telling, weight: asked })
  const known = new Map<number, Place>(scored.map((one) => [one.position, one]))
  const unknown = [...cosines.keys()].filter((position) => !known.has(position))
  for (const place of yield* index.places(unknown)) known.set(place.position, place)
  const { fused, scale } = fuse(telling, cosines, weight)
  return {
    scale,
    rate: (score) => Math.min(1, score),
    scored: fused.flatMap(({ position, score }): ReadonlyArray<Scored> => {
      const place = known.get(position)
      return place === undefined ? [] : [{ ...place, score }]
    })
  } satisfies Ordered
})

/** Why a search in the project finds nothing. */
const reasonOf = Effect.fnUntraced(function* (table: SearchTable, projectIds: ReadonlyArray<ProjectId>) {
  const corpora = yield* Effect.forEach(projectIds, table.corpus)
  if (!corpora.some(({ files }) => files)) return "no_files" as const
  return corpora.some(({ pending }) => pending) ? ("still_indexing" as const) : ("no_match" as const)
})

/** Computes each term's part of the score of each hit. */
const contributionsOf = Effect.fnUntraced(function* (index: JointIndex, { hits, terms }: Ranked) {
  if (hits.length === 0) return []
  const weighted = terms.map(({ term, weight }) => ({ term, weight: weight * frequencyFactor }))
  const held = hits.flatMap(({ positions }) => positions)
  const parts = yield* index.contributions(weighted, saturationOf(index), held)
  return hits.map(({ gains, positions, share }) =>
    parts
      .filter(({ position }) => positions.includes(position))
      .map(({ score, term }) => ({ term, score: score * share }))
      .concat(gains)
      .toSorted((one, other) => other.score - one.score)
  )
})

/** The hits with the attributes of their files. */
const withAttributes = Effect.fnUntraced(function* (
  table: SearchTable,
  projectIds: ReadonlyArray<ProjectId>,
  filter: AttributeFilter | null,
  hits: ReadonlyArray<Hit>
) {
  const ids = [...new Set(hits.map(({ fileId }) => fileId))]
  const rows = ids.length === 0 ? [] : yield* table.attributes(projectIds, ids, filter)
  const known = new Map(rows.map(({ attributes, fileId }) => [fileId, attributes]))
  return hits.map((hit): Hit => ({ ...hit, attributes: known.get(hit.fileId) ?? {} }))
})

/** The search by words; and by meaning, unless `semantic` is null. */
export const makeSearching = (analysis: Analysis, table: SearchTable, semantic: Semantic | null) => {
  const ranked = Effect.fnUntraced(function* (index: JointIndex, { limit, rated, text }: Query) {
    const asked = yield* analysis.query(text, index.languages)
    if (asked.words.length === 0 || limit < 1 || index.chunks === 0) return nothingRanked
    const wanted = Math.ceil(limit * chunksPerHit)
    const [found, vector] = yield* Effect.all(
      [
        byWords(analysis, index, asked, semantic === null ? wanted : Math.max(wanted, rerankMax)),
        semantic === null ? Effect.succeed(null) : semantic.question(text)
      ],
      { concurrency: 2 }
    )
    const { terms } = found
    const { rate, scale, scored } =
      semantic === null || vector === null
        ? byWordsAlone(found)
        : yield* withMeaning(index, found, semantic, vector)
    const joined = joinNeighbors(scored.slice(0, wanted)).slice(0, Math.ceil(limit * textsPerHit))
    const bases = new Set(joined.flatMap(({ parts }) => parts.map(({ base }) => base)))
    const passages = yield* index.passages([...bases])
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
        const shown = rated === undefined ? score : rate(score)
        return { hit: { ...hit, score: shown }, text: hit.text, positions, share, gains }
      })
      .filter(({ hit }) => rated === undefined || hit.score >= rated.scoreMin)
      .toSorted((one, other) => other.hit.score - one.hit.score)
    return { terms, hits: withoutRepetitions(hits, limit) }
  })

  const search = Effect.fnUntraced(function* (projectIds: ReadonlyArray<ProjectId>, query: Query) {
    const { characters = 0, filter = null, rated } = query
    const index = yield* openIndexes(table, projectIds, filter)
    const { hits: best } = yield* ranked(index, query)
    const found = index.parts.length === 0 ? [] : yield* addNeighbors(index, best, characters)
    const hits = rated === undefined ? found : yield* withAttributes(table, projectIds, filter, found)
    const nothing = hits.length > 0 ? null : yield* reasonOf(table, projectIds)
    return { hits, nothing } satisfies Found
  })

  const explain = Effect.fnUntraced(function* (projectId: ProjectId, query: Query) {
    const index = yield* openIndexes(table, [projectId], null)
    const found = yield* ranked(index, query)
    const explained: Explained = {
      hits: found.hits.map(({ hit }) => hit),
      nothing: found.hits.length > 0 ? null : yield* reasonOf(table, [projectId]),
      chunks: index.chunks,
      languages: index.languages,
      terms: found.terms,
      contributions: yield* contributionsOf(index, found)
    }
    return explained
  })

  return { search, explain }
}
