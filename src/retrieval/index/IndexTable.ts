import { Array as Arr, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId, ProjectId } from "../../domain/Ids.ts"
import type { ChunkTerms } from "../analysis/Analysis.ts"
import type { Chunk } from "../Chunker.ts"
import { positionBits } from "./Posting.ts"
import { type PostingRow, postingRowsMax, rowsOf, textOf } from "./PostingRows.ts"

/** Chunks whose text is stored in one row. */
const passageChunks = 8

/** Chunks whose terms are sorted together: more would keep others in this process waiting. */
const chunksAtOnce = 256

/** A file as it goes into an index. */
export interface AnalysedFile {
  readonly fileId: FileId
  readonly filename: string
  readonly text: string
  readonly pages: ReadonlyArray<number> | null
  readonly language: string
  readonly chunks: ReadonlyArray<Chunk>
  /** Of each chunk. */
  readonly terms: ReadonlyArray<ChunkTerms>
}

const Indexes = Schema.Array(Schema.Struct({ id: Schema.Int, nextPosition: Schema.Int }))

/** Writes the tables `retrieval_files`, `retrieval_passages` and `retrieval_postings`. */
export const makeIndexTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** The index of the project, and this transaction the only one that writes to it; undefined when the file isn't in it. */
  const lock = Effect.fnUntraced(function* (projectId: ProjectId, fileId: FileId) {
    // The file first: whoever takes it away has it locked before anything else, too.
    const rows = yield* sql`SELECT FROM project_files
      WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid FOR KEY SHARE`
    if (rows.length === 0) return undefined
    yield* sql`INSERT INTO retrieval_indexes (project_id) VALUES (${projectId}::uuid)
      ON CONFLICT (project_id) DO NOTHING`
    const [index] = yield* sql`SELECT id, next_position FROM retrieval_indexes
      WHERE project_id = ${projectId}::uuid FOR UPDATE`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Indexes))
    )
    return index
  })

  const insertPassages = (projectId: ProjectId, indexId: number, base: number, file: AnalysedFile) =>
    Effect.forEach(
      Arr.chunksOf(file.chunks, passageChunks),
      (chunks, at) => {
        const { start } = Arr.headNonEmpty(chunks)
        const { end } = Arr.lastNonEmpty(chunks)
        const outlines = [...new Set(chunks.map(({ headings }) => headings))]
        return sql`INSERT INTO retrieval_passages
            (index_id, base, project_id, file_id, starts, ends, outlines, headings, text_start, text)
          VALUES (${indexId}, ${base + at * passageChunks}, ${projectId}::uuid, ${file.fileId}::uuid,
            ${chunks.map((chunk) => chunk.start)}::int[], ${chunks.map((chunk) => chunk.end)}::int[],
            ${chunks.map(({ headings }) => outlines.indexOf(headings))}::smallint[],
            ${JSON.stringify(outlines)}::jsonb, ${start}, ${file.text.slice(start, end)})`
      },
      { discard: true }
    )

  /**
   * Adds each row to the term's last one while there is room, so that a term has few rows however many files hold it. It is
   * one insertion, and no update that joins: the planner knows nothing of an index that has just been made.
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

  const write = Effect.fnUntraced(function* (projectId: ProjectId, file: AnalysedFile) {
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

  /** Puts a file into the project's index, in the place of what was there of it; does nothing if the project lacks the file. */
  const replace = (projectId: ProjectId, file: AnalysedFile) => sql.withTransaction(write(projectId, file))

  const remove = (projectId: ProjectId, fileId: FileId) =>
    sql`DELETE FROM retrieval_files WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`

  return { replace, remove }
})

export type IndexTable = Effect.Success<typeof makeIndexTable>
