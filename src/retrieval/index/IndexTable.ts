import { Array as Arr, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId, ProjectId } from "../../domain/Ids.ts"
import { rowAs } from "../../sql/rows.ts"
import type { ChunkTerms } from "../analysis/Analysis.ts"
import type { Chunk } from "../Chunker.ts"

/**
 * One chunk in the row of a term: the low half of its position, how often it has the term, and its length in terms, in the
 * 31 bits of a PostgreSQL integer that aren't its sign. Counts that don't fit are kept as the largest that does.
 */
export const positionBits = 16
export const frequencyBits = 5
export const lengthBits = 10

export const frequencyMax = 2 ** frequencyBits - 1
export const lengthMax = 2 ** lengthBits - 1
const positionMask = 2 ** positionBits - 1

export interface Posting {
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
interface PostingRow {
  readonly term: string
  /** Position of the first. */
  readonly base: number
  readonly postings: Array<number>
}

/** The rows of a file whose first chunk has the position `base`, by term, in portions for one statement each. */
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

/** In the order of the table's key. */
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

/** Chunks whose text is stored in one row. */
const passageChunks = 8

/** Chunks whose terms are sorted together: more would keep others in this process waiting. */
const chunksAtOnce = 256

/** A file as it goes into an index. */
interface AnalyzedFile {
  readonly fileId: FileId
  readonly filename: string
  readonly text: string
  readonly pages: ReadonlyArray<number> | null
  readonly language: string
  readonly chunks: ReadonlyArray<Chunk>
  /** Of each chunk. */
  readonly terms: ReadonlyArray<ChunkTerms>
}

/** Files that tell the language of a project. */
const languageFilesMax = 500

const FileLanguage = Schema.Struct({ language: Schema.String })
const IndexRow = Schema.Struct({ id: Schema.Int, nextPosition: Schema.Int })

/** Writes the tables `retrieval_files`, `retrieval_passages` and `retrieval_postings`. */
export const makeIndexTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The index of the project, and this transaction the only one that writes to it; undefined when the file isn't in it. */
  const lock = Effect.fnUntraced(function* (projectId: ProjectId, fileId: FileId) {
    // The file first, as its deletion locks it first too.
    const rows = yield* sql`SELECT FROM project_files
      WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid FOR KEY SHARE`
    if (rows.length === 0) return undefined
    yield* sql`INSERT INTO retrieval_indexes (project_id) VALUES (${projectId}::uuid)
      ON CONFLICT (project_id) DO NOTHING`
    return yield* sql`SELECT id, next_position FROM retrieval_indexes
      WHERE project_id = ${projectId}::uuid FOR UPDATE`.pipe(rowAs(IndexRow))
  })

  const insertPassages = (projectId: ProjectId, indexId: number, base: number, file: AnalyzedFile) =>
    Effect.forEach(
      Arr.chunksOf(file.chunks, passageChunks),
      (chunks, at) => {
        const { start } = Arr.headNonEmpty(chunks)
        const { end } = Arr.lastNonEmpty(chunks)
        const keys = chunks.map(({ outline }) => JSON.stringify(outline))
        const outlines = new Map(chunks.map(({ outline }, place) => [keys[place] ?? "", outline]))
        const places = [...outlines.keys()]
        return sql`INSERT INTO retrieval_passages
            (index_id, base, project_id, file_id, starts, ends, outlines, headings, table_headers, text_start, text)
          VALUES (${indexId}, ${base + at * passageChunks}, ${projectId}::uuid, ${file.fileId}::uuid,
            ${chunks.map((chunk) => chunk.start)}::int[], ${chunks.map((chunk) => chunk.end)}::int[],
            ${keys.map((key) => places.indexOf(key))}::smallint[],
            ${JSON.stringify([...outlines.values()].map(({ headings }) => headings))}::jsonb,
            ${JSON.stringify([...outlines.values()].map(({ tableHeader }) => tableHeader))}::jsonb, ${start}, ${file.text.slice(start, end)})`
      },
      { discard: true }
    )

  /**
   * Adds each row to the term's last one while there is room, so that a term has few rows however many files hold it. It is
   * one insertion, and no update that joins: the planner has no statistics of a new index.
   */
  const insertPostings = (indexId: number, rows: ReadonlyArray<PostingRow>) => {
    const { firsts, lasts, postings } = textOf(rows)
    return sql`WITH fresh AS (
        SELECT term, base, (${postings}::int[])[first:last] AS postings
        FROM unnest(${rows.map(({ term }) => term)}::text[], ${rows.map(({ base }) => base)}::int[],
          ${firsts}::int[], ${lasts}::int[]) AS row (term, base, first, last)
      )
      INSERT INTO retrieval_postings AS kept (index_id, term, base, postings)
      SELECT ${indexId}, fresh.term, coalesce(tail.base, fresh.base), fresh.postings
      FROM fresh LEFT JOIN LATERAL (
        SELECT base, cardinality(postings) AS size FROM retrieval_postings
        WHERE index_id = ${indexId} AND term = fresh.term ORDER BY base DESC LIMIT 1
      ) AS tail ON tail.base >> ${positionBits} = fresh.base >> ${positionBits}
        AND tail.size + cardinality(fresh.postings) <= ${postingRowsMax}
      ON CONFLICT (index_id, term, base) DO UPDATE SET postings = kept.postings || excluded.postings`
  }

  /**
   * Puts a file into the project's index, in place of what was there of it; does nothing if the project lacks the file. To be
   * called in a transaction.
   */
  const replace = Effect.fnUntraced(function* (projectId: ProjectId, file: AnalyzedFile) {
    const index = yield* lock(projectId, file.fileId)
    if (index === undefined) return 0
    const { id, nextPosition } = index
    const tokens = file.terms.reduce((sum, { length }) => sum + length, 0)
    yield* remove(projectId, file.fileId)
    yield* sql`INSERT INTO retrieval_files
        (project_id, file_id, index_id, filename, language, base, chunks, tokens, pages)
      VALUES (${projectId}::uuid, ${file.fileId}::uuid, ${id}, ${file.filename}, ${file.language}, ${nextPosition},
        ${file.chunks.length}, ${tokens}, ${file.pages}::int[])`
    yield* insertPassages(projectId, id, nextPosition, file)
    for (const [at, terms] of Arr.chunksOf(file.terms, chunksAtOnce).entries()) {
      for (const rows of rowsOf(nextPosition + at * chunksAtOnce, terms)) yield* insertPostings(id, rows)
    }
    yield* sql`UPDATE retrieval_indexes SET next_position = next_position + ${file.chunks.length},
        chunks = chunks + ${file.chunks.length}, tokens = tokens + ${tokens},
        languages = CASE WHEN ${file.language} = ANY (languages) THEN languages ELSE languages || ${file.language}::text END
      WHERE id = ${id}`
    return file.chunks.length
  })

  /** The language of most files of the project, of those that are looked at; null while it has none. */
  const language = (projectId: ProjectId) =>
    sql`SELECT language FROM (
        SELECT language FROM retrieval_files WHERE project_id = ${projectId}::uuid LIMIT ${languageFilesMax}
      ) AS files GROUP BY language ORDER BY count(*) DESC, language LIMIT 1`.pipe(
      rowAs(FileLanguage),
      Effect.map((row) => row?.language ?? null)
    )

  const remove = (projectId: ProjectId, fileId: FileId) =>
    sql`DELETE FROM retrieval_files WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  return { replace, remove, language }
})

export type IndexTable = Effect.Success<typeof makeIndexTable>
