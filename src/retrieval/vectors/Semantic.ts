import { Array as Arr, Effect } from "effect"
import { type JointIndex, localsOf } from "../search/JointIndex.ts"
import type { Embeddings } from "./Embeddings.ts"
import { cosineOf, type Vector, type VectorTable } from "./VectorTable.ts"

/** Hits by words that are compared with the question by meaning. */
export const rerankMax = 200
/**
 * Chunks of a project up to which its vectors are looked through, for hits that share no word with the
 * question.
 */
const scannedChunksMax = 20_000
/**
 * Scanned chunks that are compared exactly: all of a small project, and of a larger one those with the most
 * signs alike.
 */
const comparedOfScanMax = 500
/** Vectors in one statement, so that few are in memory at once. */
const vectorsAtOnce = 250
/** Most hits that are added to the hits by words. */
const addedMax = 20
/**
 * The least cosine of an added hit, and its least share of the best cosine: something is always nearest,
 * however little it has to do with the question.
 */
const addedCosineMin = 0.3
const addedShareOfBestMin = 0.8

type Index = Pick<JointIndex, "chunks" | "parts">

/** The search by meaning. */
export const makeSemantic = (embeddings: Embeddings, table: VectorTable) => {
  const { model, question, weight } = embeddings

  const cosines = Effect.fnUntraced(function* (
    index: Index,
    positions: ReadonlyArray<number>,
    asked: Vector
  ) {
    const found = new Map<number, number>()
    for (const part of index.parts) {
      for (const some of Arr.chunksOf(localsOf(part, positions), vectorsAtOnce)) {
        for (const { position, vector } of yield* table.vectors(part.id, model, some, asked.length)) {
          found.set(position + part.offset, cosineOf(asked, vector))
        }
      }
    }
    return found
  })

  const nearest = Effect.fnUntraced(function* ({ chunks, parts }: Index, asked: Vector) {
    if (chunks > scannedChunksMax) return []
    const found = yield* Effect.forEach(parts, (part) =>
      Effect.map(table.nearest(part, model, asked, comparedOfScanMax), (positions) =>
        positions.map((position) => position + part.offset)
      )
    )
    return found.flat()
  })

  /**
   * Returns the cosines of the hits by words, as far as they are embedded, and of other chunks near the
   * question: from `others`, and from the whole project if it isn't too large.
   */
  const compare = Effect.fnUntraced(function* (
    index: Index,
    lexical: ReadonlyArray<number>,
    others: ReadonlyArray<number>,
    asked: Vector
  ) {
    const own = yield* cosines(index, lexical.slice(0, rerankMax), asked)
    const known = new Set(lexical)
    const near = yield* nearest(index, asked)
    const further = [...new Set([...others.slice(0, rerankMax), ...near])]
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

  return { question, compare, weight }
}

export type Semantic = ReturnType<typeof makeSemantic>

/** A chunk with a score, by words or by both. */
interface Ranked {
  readonly position: number
  readonly score: number
}

/**
 * Adds what words and meaning say, each as a share of the best, best first: the margins between the scores by
 * words stay, so that a weak model can't undo them. `lexical` has the best first; `cosines` are those of some
 * of its chunks, and of others. A chunk of `lexical` without a cosine loses nothing by not being embedded
 * yet. Scores are above 0; 1 is that of a chunk which is the best by both.
 */
export const fuse = (
  lexical: ReadonlyArray<Ranked>,
  cosines: ReadonlyMap<number, number>,
  weight: number
): { readonly fused: ReadonlyArray<Ranked>; readonly scale: number } => {
  const best = lexical[0]?.score ?? 0
  const nearest = Math.max(0, ...cosines.values())
  const byWords = new Map(lexical.map(({ position, score }) => [position, share(score, best)]))
  const order = new Map(lexical.map(({ position }, at) => [position, at]))
  const placeOf = (position: number) => order.get(position) ?? lexical.length
  const fused = [...new Set([...byWords.keys(), ...cosines.keys()])]
    .map((position): Ranked => {
      const words = byWords.get(position) ?? 0
      const cosine = cosines.get(position)
      const meaning = cosine === undefined ? words : share(cosine, nearest)
      return { position, score: (words + weight * meaning) / (1 + weight) }
    })
    .toSorted((one, other) => other.score - one.score || placeOf(one.position) - placeOf(other.position))
  return { fused, scale: best > 0 ? 1 / (best * (1 + weight)) : 0 }
}

/** The score as a share of the best one, from 0 to 1. */
const share = (score: number, best: number): number => (best <= 0 ? 0 : Math.max(0, score / best))
