import type { ChunkTerms } from "../analysis/Analysis.ts"

/**
 * One chunk in the row of a term: the low half of its position, how often it has the term, and its length in
 * terms, in the 31 bits of a PostgreSQL integer that aren't its sign. Counts that don't fit are kept as the
 * largest that does.
 */
export const positionBits = 16
export const frequencyBits = 5
export const lengthBits = 10

export const frequencyMax = 2 ** frequencyBits - 1
export const lengthMax = 2 ** lengthBits - 1
const positionMask = 2 ** positionBits - 1

interface Posting {
  readonly position: number
  readonly frequency: number
  readonly length: number
}

export const pack = ({ frequency, length, position }: Posting): number =>
  ((position & positionMask) << (frequencyBits + lengthBits)) |
  (Math.min(frequency, frequencyMax) << lengthBits) |
  Math.min(length, lengthMax)

/** `base` is the position of the first chunk of the row. */
export const unpack = (base: number, packed: number): Posting => ({
  position: (base & ~positionMask) | (packed >> (frequencyBits + lengthBits)),
  frequency: (packed >> lengthBits) & frequencyMax,
  length: packed & lengthMax
})

/** Rows hold positions with the same high half. */
const isSameRange = (one: number, other: number): boolean => one >> positionBits === other >> positionBits

/** Chunks in one row of a term: under a kilobyte, so that adding to it writes little. */
export const postingRowsMax = 192
/** Chunks in all rows of one statement. */
const statementPostingsMax = 20_000

/** Some chunks that hold a term, by position. */
export interface PostingRow {
  readonly term: string
  /** Position of the first. */
  readonly base: number
  readonly postings: Array<number>
}

/**
 * The rows of a file whose first chunk has the position `base`, by term, in portions for one statement each.
 */
export const rowsOf = (
  base: number,
  chunks: ReadonlyArray<ChunkTerms>
): ReadonlyArray<ReadonlyArray<PostingRow>> => {
  const rows: Array<PostingRow> = []
  const open = new Map<string, PostingRow>()
  for (const [at, { frequencies, length }] of chunks.entries()) {
    const position = base + at
    for (const [term, frequency] of frequencies) {
      let row = open.get(term)
      if (row === undefined || row.postings.length >= postingRowsMax || !isSameRange(row.base, position)) {
        row = { term, base: position, postings: [] }
        open.set(term, row)
        rows.push(row)
      }
      row.postings.push(pack({ position, frequency, length }))
    }
  }
  return portionsOf(rows.toSorted(inOrder))
}

/** Compares rows by the table's key. */
const inOrder = (one: PostingRow, other: PostingRow): number =>
  one.term === other.term ? one.base - other.base : one.term < other.term ? -1 : 1

const portionsOf = (rows: ReadonlyArray<PostingRow>): ReadonlyArray<ReadonlyArray<PostingRow>> => {
  const portions: Array<ReadonlyArray<PostingRow>> = []
  let portion: Array<PostingRow> = []
  let size = 0
  for (const row of rows) {
    if (portion.length > 0 && size + row.postings.length > statementPostingsMax) {
      portions.push(portion)
      portion = []
      size = 0
    }
    portion.push(row)
    size += row.postings.length
  }
  return portion.length === 0 ? portions : [...portions, portion]
}

/** The rows' postings as one array of SQL, and where in it those of each row stand, counted from one. */
export const textOf = (rows: ReadonlyArray<PostingRow>) => {
  const firsts: Array<number> = []
  const lasts: Array<number> = []
  let end = 0
  for (const { postings } of rows) {
    firsts.push(end + 1)
    lasts.push((end += postings.length))
  }
  return { firsts, lasts, postings: `{${rows.flatMap(({ postings }) => postings).join(",")}}` }
}
