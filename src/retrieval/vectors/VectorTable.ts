import { Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AttributeFilter } from "../../domain/FileAttributes.ts"
import { FileId, ProjectId } from "../../domain/Ids.ts"
import { rowAs, rowsAs } from "../../sql/rows.ts"
import { positionsOf } from "../search/AttributeConditions.ts"

/** A vector of length one, or of zeros only. */
export type Vector = Float32Array

/** The direction of some numbers. */
export const normalized = (values: ReadonlyArray<number>): Vector => {
  // The largest first, so that no square is too large for a number.
  const largest = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  if (largest === 0) return new Float32Array(values.length)
  const scaled = values.map((value) => value / largest)
  const length = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0))
  return Float32Array.from(scaled, (value) => value / length)
}

/** The cosine of the angle between two vectors of the same dimension. */
export const cosineOf = (one: Vector, other: Vector): number => {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}

/** A one for each number above zero. */
export const signsOf = (vector: Vector): string =>
  Array.from(vector, (value) => (value > 0 ? "1" : "0")).join("")

const bytesPerNumber = 4

/** Vectors of one dimension as bytes, one behind the other. */
export const bytesOf = (vectors: ReadonlyArray<Vector>): Uint8Array => {
  const dimension = vectors[0]?.length ?? 0
  const bytes = new Uint8Array(vectors.length * dimension * bytesPerNumber)
  const view = new DataView(bytes.buffer)
  for (const [row, vector] of vectors.entries()) {
    for (const [at, value] of vector.entries()) {
      view.setFloat32((row * dimension + at) * bytesPerNumber, value, true)
    }
  }
  return bytes
}

export const vectorsOf = (bytes: Uint8Array, dimension: number): ReadonlyArray<Vector> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = dimension === 0 ? 0 : Math.floor(bytes.byteLength / (dimension * bytesPerNumber))
  return Array.from({ length: count }, (_, row) => {
    const vector = new Float32Array(dimension)
    for (let at = 0; at < dimension; at++) {
      vector[at] = view.getFloat32((row * dimension + at) * bytesPerNumber, true)
    }
    return vector
  })
}

/** Rows of passages that are read at once, each of some chunks. */
const passagesAtOnce = 4

/** A file that is to be embedded; `base` tells it from the same file indexed again. */
export const EmbeddingJob = Schema.Struct({
  projectId: ProjectId,
  fileId: FileId,
  indexId: Schema.Int,
  base: Schema.Int
})
export type EmbeddingJob = typeof EmbeddingJob.Type

const StoredPassage = Schema.Struct({
  base: Schema.Int,
  starts: Schema.Array(Schema.Int),
  ends: Schema.Array(Schema.Int),
  outlines: Schema.Array(Schema.Int),
  headings: Schema.Array(Schema.Array(Schema.String)),
  tableHeaders: Schema.Array(Schema.NullOr(Schema.String)),
  textStart: Schema.Int,
  text: Schema.String,
  filename: Schema.String
})
/** Chunks that follow each other, with their text. */
export type StoredPassage = typeof StoredPassage.Type

export interface Embedded {
  readonly position: number
  /** Base of the row that holds the chunk. */
  readonly base: number
  readonly vector: Vector
}

const Position = Schema.Struct({ position: Schema.Int })
const Packed = Schema.Struct({ positions: Schema.Array(Schema.Int), vectors: Schema.Uint8Array })

const Dimension = Schema.Struct({ dimension: Schema.Int })

const numbers = (values: ReadonlyArray<number>): string => `{${values.join(",")}}`

/** The table `retrieval_embeddings`, and which files still have to be embedded. */
export const makeVectorTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isCurrent = ({ base, fileId, projectId }: EmbeddingJob) =>
    sql`project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid AND base = ${base}`

  /** The jobs for files that the model hasn't embedded, of one project or of all. */
  const due = (model: string, projectId: Statement.Fragment | null) =>
    sql`SELECT concat_ws('/', index_id, base, md5(${model})) AS id, project_id::text AS owner, base AS turn,
        jsonb_build_object('projectId', project_id, 'fileId', file_id, 'indexId', index_id, 'base', base) AS job
      FROM retrieval_files WHERE embedded_by IS DISTINCT FROM ${model}
      ${projectId === null ? sql.literal("") : sql`AND project_id = ${projectId}::uuid`}`

  /**
   * Some passages of the file that the model hasn't embedded; none when the file was deleted or indexed
   * again.
   */
  const missing = (job: EmbeddingJob, model: string) =>
    sql`SELECT base, starts, ends, outlines, headings, table_headers, text_start, text, (
        SELECT filename FROM retrieval_files WHERE ${isCurrent(job)}
      ) AS filename
      FROM retrieval_passages AS passage
      WHERE project_id = ${job.projectId}::uuid AND file_id = ${job.fileId}::uuid
        AND EXISTS (SELECT FROM retrieval_files WHERE ${isCurrent(job)}) AND (
          SELECT count(*) FROM retrieval_embeddings AS known
          WHERE known.index_id = passage.index_id AND known.base = passage.base AND known.model = ${model}
        ) < cardinality(starts)
      ORDER BY base LIMIT ${passagesAtOnce}`.pipe(rowsAs(StoredPassage))

  /** Keeps vectors of one dimension; drops them when the file was deleted or indexed again. */
  const keep = (job: EmbeddingJob, model: string, rows: ReadonlyArray<Embedded>) => {
    const vectors = rows.map(({ vector }) => vector)
    const size = (vectors[0]?.length ?? 0) * bytesPerNumber
    // A deletion of the passages locks the file first, so they stay until this is done.
    return sql`WITH present AS MATERIALIZED (
        SELECT 1 FROM retrieval_files WHERE ${isCurrent(job)} FOR KEY SHARE
      )
      INSERT INTO retrieval_embeddings (index_id, position, model, base, signs, vector)
      SELECT ${job.indexId}, position, ${model}, base, signs::varbit,
        substring(${bytesOf(vectors)}::bytea FROM ((rank - 1) * ${size})::int + 1 FOR ${size})
      FROM present CROSS JOIN unnest(${numbers(rows.map(({ position }) => position))}::int[],
        ${numbers(rows.map(({ base }) => base))}::int[], ${vectors.map(signsOf)}::text[])
        WITH ORDINALITY AS row (position, base, signs, rank)
      ON CONFLICT (index_id, position, model) DO UPDATE SET signs = excluded.signs, vector = excluded.vector`
  }

  /** Marks the file as embedded, and drops the vectors of other models. */
  const finish = (job: EmbeddingJob, model: string) =>
    sql.withTransaction(
      Effect.gen(function* () {
        const rows = yield* sql`UPDATE retrieval_files
          SET embedded_by = ${model}
          WHERE ${isCurrent(job)} RETURNING 1`
        if (rows.length === 0) return
        yield* sql`DELETE FROM retrieval_embeddings AS known USING retrieval_passages AS passage
          WHERE passage.project_id = ${job.projectId}::uuid AND passage.file_id = ${job.fileId}::uuid
            AND known.index_id = passage.index_id AND known.base = passage.base AND known.model <> ${model}`
      })
    )

  /** The chunks whose vectors agree with `vector` in the most signs, of the files that the filter leaves. */
  const nearest = (
    { filter, id: indexId }: { readonly id: number; readonly filter: AttributeFilter | null },
    model: string,
    vector: Vector,
    limit: number
  ) =>
    sql`SELECT position FROM (
        SELECT position, CASE WHEN length(signs) = ${vector.length}
          THEN bit_count(signs # ${signsOf(vector)}::text::varbit) END AS differing
        FROM retrieval_embeddings WHERE index_id = ${indexId} AND model = ${model}
          ${filter === null ? sql.literal("") : sql`AND ${positionsOf(sql, indexId, filter)} @> position`}
      ) AS near
      WHERE differing IS NOT NULL ORDER BY differing, position LIMIT ${limit}`.pipe(
      rowsAs(Position),
      Effect.map((rows) => rows.map(({ position }) => position))
    )

  /** The vectors of some chunks, as far as they have one of that dimension. */
  const vectors = (indexId: number, model: string, positions: ReadonlyArray<number>, dimension: number) =>
    sql`SELECT coalesce(array_agg(position ORDER BY position), '{}') AS positions,
        coalesce(string_agg(vector, ''::bytea ORDER BY position), ''::bytea) AS vectors
      FROM retrieval_embeddings
      WHERE index_id = ${indexId} AND position = ANY (${numbers(positions)}::int[]) AND model = ${model}
        AND octet_length(vector) = ${dimension * bytesPerNumber}`.pipe(
      rowsAs(Packed),
      Effect.map((rows) =>
        rows.flatMap((row) => {
          const found = vectorsOf(row.vectors, dimension)
          return row.positions.flatMap((position, at) => {
            const vector = found[at]
            return vector === undefined ? [] : [{ position, vector }]
          })
        })
      )
    )

  /**
   * A dimension other than this one that chunks were embedded in by the model; undefined where there is none.
   */
  const otherDimension = (model: string, dimension: number) =>
    sql`SELECT length(signs) AS dimension FROM retrieval_embeddings
      WHERE model = ${model} AND length(signs) NOT IN (0, ${dimension}) LIMIT 1`.pipe(
      rowAs(Dimension),
      Effect.map((row) => row?.dimension)
    )

  return { otherDimension, due, missing, keep, finish, nearest, vectors }
})

export type VectorTable = Effect.Success<typeof makeVectorTable>
