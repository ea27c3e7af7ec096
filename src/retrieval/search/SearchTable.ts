import { Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { type AttributeFilter, FileAttributes } from "../../domain/FileAttributes.ts"
import { FileId, type ProjectId } from "../../domain/Ids.ts"
import { rowAs, rowsAs } from "../../sql/rows.ts"
import { frequencyBits, frequencyMax, lengthBits, lengthMax } from "../index/Postings.ts"
import { conditionOf, positionsOf } from "./AttributeConditions.ts"

/** A term that is looked for. */
export interface Weighted {
  readonly term: string
  readonly weight: number
}

/**
 * Lowers a chunk's score by its length: the term's frequency is divided by itself plus `base` plus `perToken`
 * for each term of the chunk.
 */
export interface Saturation {
  readonly base: number
  readonly perToken: number
}

const IndexRow = Schema.Struct({
  id: Schema.Int,
  chunks: Schema.Int,
  tokens: Schema.Finite,
  languages: Schema.Array(Schema.String)
})
const Frequency = Schema.Struct({ term: Schema.String, chunks: Schema.Int })
const Contribution = Schema.Struct({ term: Schema.String, position: Schema.Int, score: Schema.Finite })
const Place = Schema.Struct({
  position: Schema.Int,
  base: Schema.Int,
  fileId: FileId,
  filename: Schema.String,
  language: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
  page: Schema.NullOr(Schema.Int),
  headings: Schema.Array(Schema.String),
  tableHeader: Schema.NullOr(Schema.String)
})
/** The place of a chunk; `base` is the row that holds its text. */
export type Place = typeof Place.Type

const Scored = Schema.Struct({ ...Place.fields, score: Schema.Finite })
/** A chunk with its score. */
export type Scored = typeof Scored.Type

const Passage = Schema.Struct({ base: Schema.Int, textStart: Schema.Int, text: Schema.String })
export type Passage = typeof Passage.Type

const Beginning = Schema.Struct({ beginning: Schema.String, terms: Schema.Array(Schema.String) })
const Position = Schema.Struct({ position: Schema.Int })
const Terms = Schema.Tuple([Schema.Struct({ terms: Schema.Array(Schema.String) })])
const Length = Schema.Tuple([Schema.Struct({ characters: Schema.Int })])
const Noted = Schema.Struct({ fileId: FileId, attributes: FileAttributes })
const Corpora = Schema.Tuple([Schema.Struct({ files: Schema.Boolean, pending: Schema.Boolean })])

const numbers = (values: ReadonlyArray<number>): string => `{${values.join(",")}}`

/** Lists of the terms of an index. */
const makeTermLists = (sql: SqlClient.SqlClient) => {
  /** Terms of the index that begin alike and have a length in between. */
  const neighbors = (
    indexId: number,
    like: { readonly prefix: string; readonly charactersMin: number; readonly charactersMax: number },
    limit: number
  ) =>
    sql`SELECT coalesce(array_agg(DISTINCT term), '{}') AS terms FROM (
        SELECT term FROM retrieval_postings
        WHERE index_id = ${indexId} AND term >= ${like.prefix} AND term < ${`${like.prefix}\u{10ffff}`}
        ORDER BY term LIMIT ${limit}
      ) AS near
      WHERE char_length(term) BETWEEN ${like.charactersMin} AND ${like.charactersMax}`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Terms)),
      // One list of terms: a row for each term would cost more than all that is done with them.
      Effect.map(([row]) => row.terms)
    )

  /** The first terms of the index that continue each beginning. */
  const beginnings = (indexId: number, asked: ReadonlyArray<string>, limit: number) =>
    sql`SELECT asked.term AS beginning, near.terms FROM unnest(${asked}::text[]) AS asked (term)
      CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(term), '{}') AS terms FROM (
          SELECT term FROM retrieval_postings
          WHERE index_id = ${indexId} AND term > asked.term AND term < asked.term || ${"\u{10ffff}"}
          GROUP BY term ORDER BY term LIMIT ${limit}
        ) AS found
      ) AS near`.pipe(rowsAs(Beginning))

  return { neighbors, beginnings }
}

/** Builds the queries for the scores of chunks by their terms. */
const makeScores = (sql: SqlClient.SqlClient) => {
  const position = sql.literal(`((row.base >> 16 << 16) | (packed >> ${frequencyBits + lengthBits}))`)
  const frequency = sql.literal(`((packed >> ${lengthBits}) & ${frequencyMax})`)
  const length = sql.literal(`(packed & ${lengthMax})`)

  /** The scores of all chunks by each term; only of chunks at the positions of `among`, unless it is null. */
  const scores = (
    indexId: number,
    terms: ReadonlyArray<Weighted>,
    { base, perToken }: Saturation,
    among: Statement.Fragment | null = null
  ) =>
    sql`SELECT asked.term, ${position} AS position,
        asked.weight * ${frequency} / (${frequency} + ${base}::float8 + ${perToken}::float8 * ${length}) AS score
      FROM unnest(${terms.map(({ term }) => term)}::text[], ${numbers(terms.map(({ weight }) => weight))}::float8[])
        AS asked (term, weight)
      CROSS JOIN LATERAL (
        SELECT base, postings FROM retrieval_postings WHERE index_id = ${indexId} AND term = asked.term OFFSET 0
      ) AS row
      CROSS JOIN LATERAL unnest(row.postings) AS packed
      ${among === null ? sql.literal("") : sql`WHERE ${among} @> ${position}`}`

  /**
   * The scores of chunks whose positions `asked` has. `IS TRUE` keeps the planner from making a join of it:
   * it may take the positions to be few, and read every posting again for each of them. So the postings are
   * read once, beside a hash table of the positions.
   */
  const scoresAmong = (
    asked: Statement.Fragment,
    indexId: number,
    terms: ReadonlyArray<Weighted>,
    saturation: Saturation
  ) =>
    sql`SELECT scored.* FROM (${scores(indexId, terms, saturation)}) AS scored
      WHERE (scored.position IN (SELECT position FROM ${asked})) IS TRUE`

  return { scores, scoresAmong }
}

/** Tells if the project has files, and if some of them are still to be indexed. */
const corpusOf = (sql: SqlClient.SqlClient, projectId: ProjectId) =>
  sql`SELECT EXISTS (SELECT FROM project_files WHERE project_id = ${projectId}::uuid) AS files,
      EXISTS (
        SELECT FROM project_files WHERE project_id = ${projectId}::uuid AND status = 'pending'
      ) AS pending`.pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Corpora)),
    Effect.map(([row]) => row)
  )

/**
 * The attributes of some files. Of a file that several of the projects have, they are those by which the
 * filter leaves it.
 */
const attributesOf = (
  sql: SqlClient.SqlClient,
  projectIds: ReadonlyArray<ProjectId>,
  fileIds: ReadonlyArray<FileId>,
  filter: AttributeFilter | null
) =>
  sql`SELECT DISTINCT ON (file_id) file_id, attributes FROM project_files AS corpus
    WHERE project_id = ANY (${projectIds}::uuid[]) AND file_id = ANY (${fileIds}::uuid[])
      ${filter === null ? sql.literal("") : sql`AND ${conditionOf(sql, filter)}`}
    ORDER BY file_id, project_id`.pipe(rowsAs(Noted))

/** The length of an index's texts; what two chunks share counts once. */
const lengthOf = (sql: SqlClient.SqlClient, indexId: number, isAmong: Statement.Fragment) =>
  sql`SELECT coalesce(sum(last - greatest(first, before)), 0)::int AS characters FROM (
      SELECT starts[1] AS first, ends[cardinality(ends)] AS last,
        lag(ends[cardinality(ends)]) OVER (PARTITION BY file_id ORDER BY base) AS before
      FROM retrieval_passages WHERE index_id = ${indexId} ${isAmong}
    ) AS rows`.pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Length)),
    Effect.map(([row]) => row.characters)
  )

/**
 * Reads the tables of retrieval. Every statement looks terms and positions up one by one, by `LATERAL` with
 * an `OFFSET` that the planner can't see through: it never has a choice, so that it needs no statistics to
 * choose well.
 */
export const makeSearchTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { scores, scoresAmong } = makeScores(sql)
  const amongOf = (indexId: number, filter: AttributeFilter | null) =>
    filter === null ? null : positionsOf(sql, indexId, filter)
  const isAmong = (indexId: number, filter: AttributeFilter | null) =>
    filter === null ? sql.literal("") : sql`AND ${positionsOf(sql, indexId, filter)} @> base`

  const index = (projectId: ProjectId) =>
    sql`SELECT id, chunks, tokens::float8 AS tokens, languages FROM retrieval_indexes
      WHERE project_id = ${projectId}::uuid`.pipe(rowAs(IndexRow))

  /** The number of chunks that hold each term; terms that the index lacks are left out. */
  const frequencies = (indexId: number, terms: ReadonlyArray<string>) =>
    sql`SELECT asked.term, rows.chunks FROM unnest(${terms}::text[]) AS asked (term)
      CROSS JOIN LATERAL (
        SELECT sum(cardinality(postings))::int AS chunks FROM retrieval_postings
        WHERE index_id = ${indexId} AND term = asked.term OFFSET 0
      ) AS rows
      WHERE rows.chunks > 0`.pipe(rowsAs(Frequency))

  /** The part of each chunk's score that each of the terms adds. */
  const contributions = (
    indexId: number,
    terms: ReadonlyArray<Weighted>,
    saturation: Saturation,
    positions: ReadonlyArray<number>
  ) =>
    scoresAmong(
      sql`unnest(${numbers(positions)}::int[]) AS asked (position)`,
      indexId,
      terms,
      saturation
    ).pipe(rowsAs(Contribution))

  /**
   * The places of the chunks that `asked` has by `position`, in files that still exist; `passage` and `files`
   * are their rows.
   */
  const placed = (indexId: number, asked: Statement.Fragment) =>
    sql`SELECT asked.*, passage.base, file_id, files.filename, files.language,
        passage.starts[at] AS start, passage.ends[at] AS "end",
        CASE WHEN files.pages <> '{}' THEN
          greatest(1, (SELECT count(*)::int FROM unnest(files.pages) AS page WHERE page <= passage.starts[at]))
        END AS page,
        passage.headings -> passage.outlines[at]::int AS headings,
        passage.table_headers ->> passage.outlines[at]::int AS table_header
      FROM ${asked}
      CROSS JOIN LATERAL (
        SELECT * FROM retrieval_passages WHERE index_id = ${indexId} AND base <= asked.position
        ORDER BY base DESC LIMIT 1
      ) AS passage
      CROSS JOIN LATERAL (SELECT asked.position - passage.base + 1 AS at) AS offsets
      JOIN retrieval_files AS files USING (project_id, file_id)
      WHERE at <= cardinality(passage.starts)
        AND NOT EXISTS (SELECT FROM files AS stored WHERE stored.id = file_id AND stored.expires_at <= now() OFFSET 0)`

  /** The places of the chunks, in the order of `positions`; without chunks of deleted files. */
  const places = (indexId: number, positions: ReadonlyArray<number>) =>
    sql`${placed(
      indexId,
      sql`unnest(${numbers(positions)}::int[]) WITH ORDINALITY AS asked (position, rank)`
    )} ORDER BY asked.rank`.pipe(rowsAs(Place))

  /**
   * The chunks with the highest sums, without those of deleted files: of `candidates` chunks that hold rare
   * terms, `limit` by all terms. One statement for all of it: what is sent and decoded for each costs the
   * service more than all else of a search.
   */
  const best = (
    indexId: number,
    terms: { readonly rare: ReadonlyArray<Weighted>; readonly common: ReadonlyArray<Weighted> },
    saturation: Saturation,
    { candidates, limit }: { readonly candidates: number; readonly limit: number },
    filter: AttributeFilter | null = null
  ) =>
    sql`WITH rare AS MATERIALIZED (
        SELECT position, sum(score) AS score FROM (${scores(indexId, terms.rare, saturation, amongOf(indexId, filter))}) AS scored
        GROUP BY position ORDER BY score DESC, position LIMIT ${candidates}
      ), every AS MATERIALIZED (
        SELECT position, sum(score) AS score FROM (
          SELECT position, score FROM rare UNION ALL
          SELECT position, score FROM (${scoresAmong(sql`rare`, indexId, terms.common, saturation)}) AS common
        ) AS parts GROUP BY position ORDER BY score DESC, position LIMIT ${limit}
      )
      ${placed(indexId, sql`every AS asked`)} ORDER BY asked.score DESC, asked.position`.pipe(rowsAs(Scored))

  /** The chunks of an index in the order in which they were added. */
  const positions = (indexId: number, limit: number, filter: AttributeFilter | null = null) =>
    sql`SELECT base + at::int - 1 AS position
      FROM retrieval_passages CROSS JOIN LATERAL unnest(starts) WITH ORDINALITY AS chunk (start, at)
      WHERE index_id = ${indexId} ${isAmong(indexId, filter)} ORDER BY position LIMIT ${limit}`.pipe(
      rowsAs(Position),
      Effect.map((rows) => rows.map((row) => row.position))
    )

  /** The texts of some rows of chunks. */
  const passages = (indexId: number, bases: ReadonlyArray<number>) =>
    sql`SELECT base, text_start, text FROM retrieval_passages
      WHERE index_id = ${indexId} AND base = ANY (${numbers(bases)}::int[])`.pipe(rowsAs(Passage))

  return {
    index,
    frequencies,
    best,
    contributions,
    places,
    positions,
    passages,
    ...makeTermLists(sql),
    length: (indexId: number, filter: AttributeFilter | null = null) =>
      lengthOf(sql, indexId, isAmong(indexId, filter)),
    corpus: (projectId: ProjectId) => corpusOf(sql, projectId),
    attributes: (
      projectIds: ReadonlyArray<ProjectId>,
      fileIds: ReadonlyArray<FileId>,
      filter: AttributeFilter | null
    ) => attributesOf(sql, projectIds, fileIds, filter)
  }
})

export type SearchTable = Effect.Success<typeof makeSearchTable>
