import { Effect } from "effect"
import type { AttributeFilter } from "../../domain/FileAttributes.ts"
import type { ProjectId } from "../../domain/Ids.ts"
import type { Collection } from "./Ranking.ts"
import type { Passage, Place, Saturation, Scored, SearchTable, Weighted } from "./SearchTable.ts"

/**
 * Positions of one index, from the first one on: they have 31 bits. The second index begins after so many,
 * and so on.
 */
const positionsPerIndex = 2 ** 32
const positionMax = 2 ** 31 - 1

/** Indexes that are asked at once. */
const askedAtOnce = 2

/** One of the indexes; its positions are those of the whole without `offset`. */
interface IndexPart {
  readonly id: number
  readonly offset: number
  readonly filter: AttributeFilter | null
}

interface Like {
  readonly prefix: string
  readonly charactersMin: number
  readonly charactersMax: number
}

/** Positions of the whole in their part; those that no position of it can be are left out. */
export const localsOf = ({ offset }: IndexPart, positions: ReadonlyArray<number>): ReadonlyArray<number> =>
  positions.map((position) => position - offset).filter((local) => local >= 0 && local <= positionMax)

/**
 * The indexes of some projects as if they were one: a word is as rare as it is in all of them together, so
 * that scores can be compared. With a filter, only the chunks of the files that it leaves are found.
 * Positions of a single project are those of its table.
 */
export const openIndexes = Effect.fnUntraced(function* (
  table: SearchTable,
  projectIds: ReadonlyArray<ProjectId>,
  filter: AttributeFilter | null
) {
  const rows = (yield* Effect.forEach(projectIds, table.index)).filter((row) => row !== undefined)
  const parts = rows.map(({ id }, at): IndexPart => ({ id, offset: at * positionsPerIndex, filter }))
  const collection: Collection = {
    chunks: rows.reduce((sum, { chunks }) => sum + chunks, 0),
    tokens: rows.reduce((sum, { tokens }) => sum + tokens, 0)
  }
  const languages = [...new Set(rows.flatMap((row) => row.languages))]
  return { ...collection, languages, parts, ...makeTerms(table, parts), ...makeChunks(table, parts) }
})

export type JointIndex = Effect.Success<ReturnType<typeof openIndexes>>

const ofAll = <A, E, R>(
  parts: ReadonlyArray<IndexPart>,
  ask: (part: IndexPart) => Effect.Effect<ReadonlyArray<A>, E, R>
) => Effect.map(Effect.forEach(parts, ask, { concurrency: askedAtOnce }), (answers) => answers.flat())

/** Reads the terms of the indexes. */
const makeTerms = (table: SearchTable, parts: ReadonlyArray<IndexPart>) => {
  const frequencies = (terms: ReadonlyArray<string>) =>
    Effect.map(
      ofAll(parts, ({ id }) => table.frequencies(id, terms)),
      (rows) => {
        const sums = new Map<string, number>()
        for (const { chunks, term } of rows) sums.set(term, (sums.get(term) ?? 0) + chunks)
        return sums
      }
    )

  const neighbors = (like: Like, limit: number) =>
    Effect.map(
      ofAll(parts, ({ id }) => table.neighbors(id, like, limit)),
      (terms) => (parts.length === 1 ? terms : [...new Set(terms)])
    )

  const beginnings = (asked: ReadonlyArray<string>, limit: number) =>
    Effect.map(
      ofAll(parts, ({ id }) => table.beginnings(id, asked, limit)),
      (rows) => {
        if (parts.length === 1) return rows
        return [...Map.groupBy(rows, ({ beginning }) => beginning)].map(([beginning, found]) => ({
          beginning,
          terms: [...new Set(found.flatMap(({ terms }) => terms))].toSorted().slice(0, limit)
        }))
      }
    )

  return { frequencies, neighbors, beginnings }
}

const moved = <A extends Place>(place: A, offset: number): A =>
  offset === 0 ? place : { ...place, position: place.position + offset, base: place.base + offset }

/** The chunks of the indexes. */
const makeChunks = (table: SearchTable, parts: ReadonlyArray<IndexPart>) => {
  const best = (
    terms: { readonly rare: ReadonlyArray<Weighted>; readonly common: ReadonlyArray<Weighted> },
    saturation: Saturation,
    limits: { readonly candidates: number; readonly limit: number }
  ) =>
    Effect.map(
      ofAll(parts, ({ filter, id, offset }) =>
        Effect.map(table.best(id, terms, saturation, limits, filter), (found) =>
          found.map((one): Scored => moved(one, offset))
        )
      ),
      (found) =>
        parts.length === 1
          ? found
          : found.toSorted((one, other) => other.score - one.score).slice(0, limits.limit)
    )

  const contributions = (
    terms: ReadonlyArray<Weighted>,
    saturation: Saturation,
    positions: ReadonlyArray<number>
  ) =>
    ofAll(parts, (part) =>
      Effect.map(table.contributions(part.id, terms, saturation, localsOf(part, positions)), (found) =>
        found.map((one) => ({ ...one, position: one.position + part.offset }))
      )
    )

  /** The places in the order of `positions`. */
  const places = Effect.fnUntraced(function* (positions: ReadonlyArray<number>) {
    const found = yield* ofAll(parts, (part) =>
      Effect.map(table.places(part.id, localsOf(part, positions)), (some) =>
        some.map((place): Place => moved(place, part.offset))
      )
    )
    if (parts.length === 1) return found
    const known = new Map(found.map((place) => [place.position, place]))
    return positions.flatMap((position) => known.get(position) ?? [])
  })

  const positions = (limit: number) =>
    Effect.map(
      ofAll(parts, ({ filter, id, offset }) =>
        Effect.map(table.positions(id, limit, filter), (found) => found.map((one) => one + offset))
      ),
      (found) => found.slice(0, limit)
    )

  const passages = (bases: ReadonlyArray<number>) =>
    ofAll(parts, (part) =>
      Effect.map(table.passages(part.id, localsOf(part, bases)), (found) =>
        found.map((one): Passage => ({ ...one, base: one.base + part.offset }))
      )
    )

  const length = Effect.map(
    Effect.forEach(parts, ({ filter, id }) => table.length(id, filter)),
    (lengths) => lengths.reduce((sum, one) => sum + one, 0)
  )

  return { best, contributions, places, positions, passages, length }
}
