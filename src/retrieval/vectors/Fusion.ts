/** How much less the first places count than their ranks alone would say; the customary value. */
const rankOffset = 60

export interface Fused {
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
