import { Effect } from "effect"
import { type Hit, hitOf } from "./Hit.ts"
import type { Collection } from "./Ranking.ts"
import type { SearchTable } from "./SearchTable.ts"

/** A hit, and the positions of its chunks. */
interface Known {
  readonly hit: Hit
  readonly positions: ReadonlyArray<number>
}

/** A project with more chunks is never given as a whole. */
const wholeChunksMax = 100
/** Hits whose neighbors are looked at, and how much less these count. */
const neighborsOf = 10
const neighborShare = 0.5

const charactersOf = (hits: ReadonlyArray<Hit>): number =>
  hits.reduce((sum, { text }) => sum + text.length, 0)

/** The hits that follow each other until there is no room. */
const within = (hits: ReadonlyArray<Hit>, room: number): ReadonlyArray<Hit> => {
  let used = 0
  return hits.filter(({ text }) => {
    const fits = used + text.length <= room
    if (fits) used += text.length
    return fits
  })
}

/**
 * What is given besides the hits while there is room: the rest of the project in its order if all of it fits, and otherwise the chunks
 * before and behind the hits, those of the best first.
 */
export const besides = Effect.fnUntraced(function* (
  table: SearchTable,
  index: Collection & { readonly id: number },
  best: ReadonlyArray<Known>,
  characters: number
) {
  const room = characters - charactersOf(best.map(({ hit }) => hit))
  if (room <= 0) return []
  const known = new Set(best.flatMap(({ positions }) => positions))

  const read = Effect.fnUntraced(function* (
    positions: ReadonlyArray<number>,
    neighbors: ReadonlyMap<number, Hit>
  ) {
    const wanted = [...new Set(positions)].filter((position) => !known.has(position))
    if (wanted.length === 0) return []
    const places = yield* table.places(index.id, wanted)
    const passages = yield* table.passages(index.id, [...new Set(places.map(({ base }) => base))])
    return places.flatMap((place): ReadonlyArray<Hit> => {
      const neighbor = neighbors.get(place.position)
      // The last chunk of a file is followed by the first one of another.
      if (neighbor !== undefined && neighbor.fileId !== place.fileId) return []
      const score = (neighbor?.score ?? 0) * neighborShare
      return [hitOf({ parts: [{ ...place, score }], score }, passages)]
    })
  })

  if (index.chunks <= wholeChunksMax) {
    const rest = yield* read(yield* table.positions(index.id, wholeChunksMax), new Map())
    if (charactersOf(rest) <= room) return rest
  }
  const near = new Map<number, Hit>()
  for (const { hit, positions } of best.slice(0, neighborsOf)) {
    for (const position of [Math.max(...positions) + 1, Math.min(...positions) - 1]) {
      if (!near.has(position)) near.set(position, hit)
    }
  }
  return within(yield* read([...near.keys()], near), room)
})
