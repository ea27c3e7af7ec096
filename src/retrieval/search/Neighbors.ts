import { Effect } from "effect"
import { type Hit, hitOf } from "./Hit.ts"
import type { JointIndex } from "./JointIndex.ts"

/** A hit, and the positions of its chunks. */
interface Known {
  readonly hit: Hit
  readonly positions: ReadonlyArray<number>
}

/**
 * Least average length of chunks for which a project is given as a whole: each chunk has its place beside it.
 */
const wholeChunkCharactersMin = 40
/** Hits whose neighbors are read, and the share of a hit's score that a neighbor gets. */
const neighborHits = 10
const neighborShare = 0.5

const charactersOf = (hits: ReadonlyArray<Hit>): number =>
  hits.reduce((sum, { text }) => sum + text.length, 0)

/** Keeps the hits that fit into the room, in their order. */
const within = (hits: ReadonlyArray<Hit>, room: number): ReadonlyArray<Hit> => {
  let used = 0
  return hits.filter(({ text }) => {
    const fits = used + text.length <= room
    if (fits) used += text.length
    return fits
  })
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Cuts the spans of its file from a hit; undefined when nothing is left. */
const restOf = (hit: Hit, spans: ReadonlyArray<Span>): Hit | undefined => {
  let { end, start } = hit
  for (const span of spans) {
    if (span.start <= start) start = Math.max(start, span.end)
    else if (span.end >= end) end = Math.min(end, span.start)
  }
  if (start === hit.start && end === hit.end) return hit
  const text = hit.text.slice(start - hit.start, Math.max(0, end - hit.start))
  const kept = text.trim()
  if (kept === "") return undefined
  const from = start + text.indexOf(kept)
  return { ...hit, start: from, end: from + kept.length, text: kept }
}

/** Cuts from each hit the text that an earlier one has too: consecutive chunks overlap. */
const withoutOverlaps = (hits: ReadonlyArray<Hit>): ReadonlyArray<Hit> => {
  const given = new Map<string, Array<Span>>()
  return hits.flatMap((hit) => {
    const spans = given.get(hit.fileId) ?? []
    const rest = restOf(hit, spans)
    if (rest !== undefined) given.set(hit.fileId, [...spans, rest])
    return rest ?? []
  })
}

/**
 * Adds text to the hits while there is room: the rest of the project in its order if all of it fits, and
 * otherwise the chunks before and behind the hits, beginning with the best hit.
 */
export const addNeighbors = Effect.fnUntraced(function* (
  index: JointIndex,
  best: ReadonlyArray<Known>,
  characters: number
) {
  const hits = best.map(({ hit }) => hit)
  const known = new Set(best.flatMap(({ positions }) => positions))

  const read = Effect.fnUntraced(function* (
    positions: ReadonlyArray<number>,
    neighbors: ReadonlyMap<number, Hit>
  ) {
    const wanted = [...new Set(positions)].filter((position) => !known.has(position))
    if (wanted.length === 0) return []
    const places = yield* index.places(wanted)
    const passages = yield* index.passages([...new Set(places.map(({ base }) => base))])
    return places.flatMap((place): ReadonlyArray<Hit> => {
      const neighbor = neighbors.get(place.position)
      // The last chunk of a file is followed by the first one of another.
      if (neighbor !== undefined && neighbor.fileId !== place.fileId) return []
      const score = (neighbor?.score ?? 0) * neighborShare
      return [hitOf({ parts: [{ ...place, score }], score }, passages)]
    })
  })

  if (index.chunks * wholeChunkCharactersMin <= characters && (yield* index.length) <= characters) {
    const rest = yield* read(yield* index.positions(index.chunks), new Map())
    return withoutOverlaps([...hits, ...rest])
  }
  const room = characters - charactersOf(hits)
  if (room <= 0) return hits
  const near = new Map<number, Hit>()
  for (const { hit, positions } of best.slice(0, neighborHits)) {
    for (const position of [Math.max(...positions) + 1, Math.min(...positions) - 1]) {
      if (!near.has(position)) near.set(position, hit)
    }
  }
  return [...hits, ...within(yield* read([...near.keys()], near), room)]
})
