import { Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { FileId, ProjectId } from "../../domain/Ids.ts"
import { rowAs } from "../../sql/rows.ts"
import type { ChunkTerms } from "../analysis/Analysis.ts"

const Reserved = Schema.Struct({ id: Schema.Int, base: Schema.Int, stored: Schema.Int })
/**
 * The index of a project, the position of the first chunk of a file in it, and the number of chunks that the
 * index has already.
 */
export type Reserved = typeof Reserved.Type

export const tokensOf = (terms: ReadonlyArray<ChunkTerms>): number =>
  terms.reduce((sum, { length }) => sum + length, 0)

/** A file whose terms are to be written. */
interface WrittenFile {
  readonly fileId: FileId
  readonly terms: ReadonlyArray<ChunkTerms>
}

/**
 * Counts the positions of writes that come to no end as those of deleted files, which the compaction removes.
 * The rows of the indexes are locked before those of the writes, as by all who change both.
 */
export const giveUpWrites = (sql: SqlClient.SqlClient, which: Statement.Fragment) =>
  sql`WITH locked AS MATERIALIZED (
      SELECT id FROM retrieval_indexes WHERE id IN (SELECT index_id FROM retrieval_writes WHERE ${which})
      ORDER BY id FOR NO KEY UPDATE
    ), ended AS (
      DELETE FROM retrieval_writes WHERE ${which} AND index_id IN (SELECT id FROM locked) RETURNING index_id, chunks, tokens
    ),
      gone AS (SELECT index_id, sum(chunks)::int AS chunks, sum(tokens) AS tokens FROM ended GROUP BY index_id)
    UPDATE retrieval_indexes SET chunks = retrieval_indexes.chunks + gone.chunks,
      tokens = retrieval_indexes.tokens + gone.tokens
    FROM gone WHERE id = gone.index_id`

/** The table `retrieval_writes`, and the positions of chunks. */
export const makeIndexWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Keeps the file until the transaction ends; false when the project doesn't have it. */
  const keepFile = (projectId: ProjectId, fileId: FileId) =>
    Effect.map(
      sql`SELECT FROM project_files WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid FOR KEY SHARE`,
      (rows) => rows.length > 0
    )

  /**
   * Positions for the chunks of a file that the project has, and this transaction the only one that writes to
   * its index.
   */
  const reserve = Effect.fnUntraced(function* (projectId: ProjectId, { fileId, terms }: WrittenFile) {
    // The file first, as its deletion locks it first too.
    if (!(yield* keepFile(projectId, fileId))) return undefined
    yield* sql`INSERT INTO retrieval_indexes (project_id) VALUES (${projectId}::uuid)
      ON CONFLICT (project_id) DO NOTHING`
    return yield* sql`UPDATE retrieval_indexes SET next_position = next_position + ${terms.length}
      WHERE project_id = ${projectId}::uuid RETURNING id, next_position - ${terms.length}::int AS base, chunks AS stored`.pipe(
      rowAs(Reserved)
    )
  })

  /**
   * Reserves positions that are written to from now on; those of an earlier attempt at the same file are
   * given up.
   */
  const begin = Effect.fnUntraced(function* (projectId: ProjectId, file: WrittenFile) {
    const reserved = yield* reserve(projectId, file)
    if (reserved === undefined) return undefined
    const { base, id } = reserved
    yield* giveUpWrites(sql, sql`index_id = ${id} AND file_id = ${file.fileId}::uuid`)
    yield* sql`INSERT INTO retrieval_writes (index_id, base, file_id, chunks, tokens)
      VALUES (${id}, ${base}, ${file.fileId}::uuid, ${file.terms.length}, ${tokensOf(file.terms)})`
    return reserved
  }, sql.withTransaction)

  /**
   * True if the writing can still complete: the project has the file, and no later attempt at it has begun.
   */
  const isCurrent = (projectId: ProjectId, fileId: FileId, { base, id }: Reserved) =>
    Effect.map(
      sql`SELECT FROM retrieval_writes WHERE index_id = ${id} AND base = ${base} AND EXISTS (
        SELECT FROM project_files WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid
      )`,
      (rows) => rows.length > 0
    )

  /** Ends the writing, in the transaction that makes the file searchable. */
  const end = Effect.fnUntraced(function* ({ base, id }: Reserved) {
    const rows =
      yield* sql`DELETE FROM retrieval_writes WHERE index_id = ${id} AND base = ${base} RETURNING 1`
    if (rows.length === 0) return yield* Effect.die(new Error("The positions of the file were given up"))
  })

  const giveUp = ({ base, id }: Reserved) => giveUpWrites(sql, sql`index_id = ${id} AND base = ${base}`)

  return { keepFile, reserve, begin, isCurrent, end, giveUp }
})
