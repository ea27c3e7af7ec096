import { Array as Arr, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId, ProjectId } from "../../domain/Ids.ts"
import { rowAs } from "../../sql/rows.ts"
import type { ChunkTerms } from "../analysis/Analysis.ts"
import type { Chunk } from "../Chunker.ts"
import { makeIndexWrites, type Reserved, tokensOf } from "./IndexWrites.ts"
import { positionBits, type PostingRow, postingRowsMax, rowsOf, textOf } from "./Postings.ts"

/** Chunks whose text is stored in one row. */
const passageChunks = 8

/**
 * Chunks whose terms are written together, and how many there are in an index for each of them. PostgreSQL
 * clears what a transaction has replaced for the next one that comes to the page: all terms of a long file at
 * once would multiply the table, and the larger it is, the less of a page so many chunks replace. See
 * docs/decisions/bm25-in-sql.md.
 */
const [portionChunksMin, portionChunksMax] = [8, 64]
const storedPerPortionChunk = 1_250

const portionOf = (storedChunks: number): number =>
  Math.min(portionChunksMax, Math.max(portionChunksMin, Math.floor(storedChunks / storedPerPortionChunk)))

/** A file as it goes into an index. */
interface AnalyzedFile {
  readonly fileId: FileId
  readonly filename: string
  readonly text: string
  readonly pages: ReadonlyArray<number> | null
  readonly language: string
  readonly chunks: ReadonlyArray<Chunk>
  /** Terms of each chunk, in the order of `chunks`. */
  readonly terms: ReadonlyArray<ChunkTerms>
}

/** Files that tell the language of a project. */
const languageFilesMax = 500

const FileLanguage = Schema.Struct({ language: Schema.String })
/**
 * Adds each row to the term's last one while there is room, so that a term has few rows however many files
 * hold it. It is one insertion, and no update that joins: the planner has no statistics of a new index. The
 * lock is the compaction's, and one that the row's references don't wait for: a file that is published refers
 * to the row before it counts its chunks there.
 */
const insertPostings = (sql: SqlClient.SqlClient, indexId: number, rows: ReadonlyArray<PostingRow>) => {
  const { firsts, lasts, postings } = textOf(rows)
  return sql`WITH locked AS MATERIALIZED (
      SELECT id FROM retrieval_indexes WHERE id = ${indexId} FOR NO KEY UPDATE
    ), fresh AS (
      SELECT term, base, (${postings}::int[])[first:last] AS postings
      FROM unnest(${rows.map(({ term }) => term)}::text[], ${rows.map(({ base }) => base)}::int[],
        ${firsts}::int[], ${lasts}::int[]) AS row (term, base, first, last)
    )
    INSERT INTO retrieval_postings AS kept (index_id, term, base, postings)
    SELECT locked.id, fresh.term, coalesce(tail.base, fresh.base), fresh.postings
    FROM locked CROSS JOIN fresh LEFT JOIN LATERAL (
      SELECT base, cardinality(postings) AS size FROM retrieval_postings
      WHERE index_id = ${indexId} AND term = fresh.term ORDER BY base DESC LIMIT 1
    ) AS tail ON tail.base >> ${positionBits} = fresh.base >> ${positionBits}
      AND tail.size + cardinality(fresh.postings) <= ${postingRowsMax}
    ON CONFLICT (index_id, term, base) DO UPDATE SET postings = kept.postings || excluded.postings`
}

/** Writes the tables `retrieval_files`, `retrieval_passages` and `retrieval_postings`. */
export const makeIndexTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const writes = yield* makeIndexWrites

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

  /** Writes the terms in portions, of which none follows once `goesOn` is false. */
  const insertTerms = Effect.fnUntraced(function* <E, R>(
    { base, id, stored }: Reserved,
    terms: AnalyzedFile["terms"],
    goesOn: Effect.Effect<boolean, E, R>
  ) {
    const portion = portionOf(stored)
    for (const [at, some] of Arr.chunksOf(terms, portion).entries()) {
      if (!(yield* goesOn)) return
      for (const rows of rowsOf(base + at * portion, some)) yield* insertPostings(sql, id, rows)
    }
  })

  /** Makes a file searchable whose terms are written, in place of what was there of it. */
  const publish = Effect.fnUntraced(function* (
    projectId: ProjectId,
    { base, id }: Reserved,
    file: AnalyzedFile
  ) {
    const { chunks, fileId, filename, language, pages } = file
    const tokens = tokensOf(file.terms)
    yield* remove(projectId, fileId)
    yield* sql`INSERT INTO retrieval_files
        (project_id, file_id, index_id, filename, language, base, chunks, tokens, pages)
      VALUES (${projectId}::uuid, ${fileId}::uuid, ${id}, ${filename}, ${language}, ${base},
        ${chunks.length}, ${tokens}, ${pages}::int[])`
    yield* insertPassages(projectId, id, base, file)
    yield* sql`UPDATE retrieval_indexes SET chunks = chunks + ${chunks.length}, tokens = tokens + ${tokens},
        languages = CASE WHEN ${language} = ANY (languages) THEN languages ELSE languages || ${language}::text END
      WHERE id = ${id}`
  })

  /** A short file is written in one transaction. */
  const replaceAtOnce = Effect.fnUntraced(function* (projectId: ProjectId, file: AnalyzedFile) {
    const reserved = yield* writes.reserve(projectId, file)
    if (reserved === undefined) return 0
    yield* insertTerms(reserved, file.terms, Effect.succeed(true))
    yield* publish(projectId, reserved, file)
    return file.chunks.length
  })

  const endReplacing = Effect.fnUntraced(function* (
    projectId: ProjectId,
    reserved: Reserved,
    file: AnalyzedFile
  ) {
    if (!(yield* writes.keepFile(projectId, file.fileId))) return yield* Effect.as(writes.giveUp(reserved), 0)
    // The row of the index is locked before those of the writes, as everywhere.
    yield* publish(projectId, reserved, file)
    yield* writes.end(reserved)
    return file.chunks.length
  })

  /**
   * Puts a file into the project's index, in place of what was there of it; does nothing if the project lacks
   * the file. In the transaction that makes it searchable, `together` is done as well.
   */
  const replace = <E, R>(projectId: ProjectId, file: AnalyzedFile, together: Effect.Effect<void, E, R>) =>
    Effect.gen(function* () {
      if (file.chunks.length <= portionChunksMin) {
        return yield* sql.withTransaction(Effect.tap(replaceAtOnce(projectId, file), together))
      }
      const reserved = yield* writes.begin(projectId, file)
      if (reserved === undefined) return 0
      const goesOn = writes.isCurrent(projectId, file.fileId, reserved)
      return yield* insertTerms(reserved, file.terms, goesOn).pipe(
        Effect.andThen(sql.withTransaction(Effect.tap(endReplacing(projectId, reserved, file), together))),
        // Positions that can't be given up now are given up by the next attempt, or by the compaction.
        Effect.onError(() => Effect.ignore(writes.giveUp(reserved)))
      )
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
