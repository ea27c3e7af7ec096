import { Array as Arr, Effect } from "effect"
import type { Embeddings } from "./Embeddings.ts"
import { cosineOf, type Vector, type VectorTable } from "./VectorTable.ts"

/** Hits by words that are compared with the question by meaning. */
export const comparedMax = 200
/** Chunks of a project up to which its vectors are looked through, for hits that share no word with the question. */
const scannedChunksMax = 20_000
/** Of these, those that are compared exactly: all of a small project's, and of a larger one's those with the most signs alike. */
const comparedOfScanMax = 500
/** Vectors in one statement, so that few are in memory at once. */
const vectorsAtOnce = 250
/** Hits that are added at most to those by words. */
const addedMax = 20
/** What they must reach, and of the best cosine: something is always nearest, however little it has to do with the question. */
const addedCosineMin = 0.3
const addedShareOfBestMin = 0.8

interface Index {
  readonly id: number
  readonly chunks: number
}

/** The search by meaning. */
export const makeSemantic = (embeddings: Embeddings, table: VectorTable) => {
  const { model, question } = embeddings

  const cosines = Effect.fnUntraced(function* (
    index: Index,
    positions: ReadonlyArray<number>,
    asked: Vector
  ) {
    const found = new Map<number, number>()
    for (const some of Arr.chunksOf(positions, vectorsAtOnce)) {
      for (const { position, vector } of yield* table.vectors(index.id, model, some, asked.length)) {
        found.set(position, cosineOf(asked, vector))
      }
    }
    return found
  })

  /**
   * How near the hits by words are to the question, as far as they are embedded; and which others are near to it: of
   * `others`, and of the whole project where it isn't too large.
   */
  const compare = Effect.fnUntraced(function* (
    index: Index,
    lexical: ReadonlyArray<number>,
    others: ReadonlyArray<number>,
    asked: Vector
  ) {
    const own = yield* cosines(index, lexical.slice(0, comparedMax), asked)
    const known = new Set(lexical)
    const near =
      index.chunks > scannedChunksMax ? [] : yield* table.nearest(index.id, model, asked, comparedOfScanMax)
    const further = [...new Set([...others.slice(0, comparedMax), ...near])]
    const unknown = further.filter((position) => !known.has(position))
    const found = yield* cosines(index, unknown, asked)
    const best = [...own.values(), ...found.values()].reduce((max, cosine) => Math.max(max, cosine), 0)
    const floor = Math.max(addedCosineMin, best * addedShareOfBestMin)
    const added = [...found]
      .filter(([, cosine]) => cosine >= floor)
      .toSorted(([one, cosine], [other, otherCosine]) => otherCosine - cosine || one - other)
      .slice(0, addedMax)
    return new Map([...own, ...added])
  })

  return { question, compare }
}

export type Semantic = ReturnType<typeof makeSemantic>

/** How much less the first places count than their ranks alone would say; the customary value. */
const rankOffset = 60

interface Fused {
  readonly position: number
  /** Above zero; one for what is first in both orders. */
  readonly score: number
}

/**
 * Puts two orders together by reciprocal rank, best first. `lexical` has the best first; `cosines` are those of some of its
 * chunks, and of others. A chunk without a cosine has the same rank in both, so that it loses nothing by not being embedded
 * yet; one that isn't in `lexical` comes after all that are.
 */
export const fuse = (
  lexical: ReadonlyArray<number>,
  cosines: ReadonlyMap<number, number>
): ReadonlyArray<Fused> => {
  const lexicalRanks = new Map(lexical.map((position, at) => [position, at + 1]))
  const lexicalRank = (position: number) => lexicalRanks.get(position) ?? lexical.length + 1
  const byWords = (one: number, other: number) => lexicalRank(one) - lexicalRank(other) || one - other
  const semantic = [...cosines].toSorted(
    ([one, cosine], [other, otherCosine]) => otherCosine - cosine || byWords(one, other)
  )
  const semanticRanks = new Map(semantic.map(([position], at) => [position, at + 1]))
  return [...new Set([...lexical, ...cosines.keys()])]
    .map((position): Fused => {
      const rank = lexicalRank(position)
      const other = semanticRanks.get(position) ?? rank
      return { position, score: (share(rank) + share(other)) / 2 }
    })
    .toSorted((one, other) => other.score - one.score || byWords(one.position, other.position))
}

const share = (rank: number): number => (rankOffset + 1) / (rankOffset + rank)
