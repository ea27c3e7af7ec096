import type { Place } from "./SearchTable.ts"

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
/** Of the score of its neighbour, what a chunk must have to be put to it; a weaker one stands for itself. */
const shareOfNeighbourMin = 0.65

/** Puts chunks that follow each other together, at the place of the best; `scored` has the best first. */
export const joinNeighbours = (scored: ReadonlyArray<Scored>): ReadonlyArray<Joined> => {
  const joined: Array<{ parts: [Scored, ...Array<Scored>]; readonly score: number }> = []
  const placeOf = new Map<number, (typeof joined)[number]>()
  for (const one of scored) {
    const near = [placeOf.get(one.position - 1), placeOf.get(one.position + 1)].find(
      (group) =>
        group !== undefined &&
        group.parts.length < partsMax &&
        group.parts[0].fileId === one.fileId &&
        one.score >= group.score * shareOfNeighbourMin
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

/** Leaves out what is far below the best, or says next to nothing to the question; `scored` has the best first. */
export const aboveFloor = (scored: ReadonlyArray<Scored>, scoreMax: number): ReadonlyArray<Scored> => {
  const floor = Math.max((scored[0]?.score ?? 0) * shareOfBestMin, scoreMax * shareOfMaxMin)
  return scored.filter(({ score }) => score >= floor)
}

/** Words that two passages share, as a part of all words of both, from which on they say the same. */
const likenessMax = 0.9

const word = /[\p{L}\p{N}]+/gu

/** Leaves out what says nearly the same as something better before it. */
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
