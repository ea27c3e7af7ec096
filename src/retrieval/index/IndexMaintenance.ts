import { Cause, Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowAs, rowsAs } from "../../sql/rows.ts"
import { giveUpWrites } from "./IndexWrites.ts"
import { frequencyBits, lengthBits, positionBits } from "./Postings.ts"

/** Interval of the checks of all indexes. */
const everySeconds = 60
/** Share and number of removed chunks from which on a check compacts an index. */
const goneShareMin = 0.2
const goneChunksMin = 100
/** Interval of full compaction in checks. Full compaction removes every word of deleted files. */
const roundsBetweenErasures = 60
/** Age of an unfinished write from which on it is given up: its process has ended. */
const writeHoursMax = 6
/** Rows that one statement reads, so that none takes long. */
const rowsAtOnce = 1_000
/** Indexes that one check compacts; the next checks compact the others. */
const indexesAtOnce = 100

/** Runs a check after the interval. A failed check is logged, and the next one resumes it. */
const later = <E, R>(work: Effect.Effect<void, E, R>) =>
  Effect.sleep(Duration.seconds(everySeconds)).pipe(
    Effect.andThen(work),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.logWarning("The search index could not be compacted", cause)
    )
  )

const IndexId = Schema.Struct({ id: Schema.Int })
const Present = Schema.Struct({ ranges: Schema.String, goneChunks: Schema.Int, goneTokens: Schema.Finite })
const Place = Schema.Struct({ term: Schema.String, base: Schema.Int })
type Place = typeof Place.Type

/**
 * Removes the postings of deleted files from the indexes. Searches skip such postings, but have to read them.
 * Each step is a transaction of its own, after which all is consistent.
 */
export const makeCompaction = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ids = rowsAs(IndexId)

  const sparse = (shareMin: number, chunksMin: number) =>
    sql`SELECT id FROM retrieval_indexes CROSS JOIN LATERAL (
      SELECT coalesce(sum(chunks), 0) AS chunks FROM retrieval_files WHERE index_id = id
    ) AS files
    WHERE retrieval_indexes.chunks - files.chunks >= greatest(${chunksMin}, ${shareMin}::float8 * files.chunks)
    ORDER BY id LIMIT ${indexesAtOnce}`.pipe(ids)

  /** Selects deleted indexes that still have postings, by going from one number to the next. */
  const orphaned = sql`WITH RECURSIVE known AS (
      SELECT min(index_id) AS id FROM retrieval_postings
      UNION ALL SELECT (SELECT min(index_id) FROM retrieval_postings WHERE index_id > known.id) FROM known
      WHERE known.id IS NOT NULL
    )
    SELECT id FROM known WHERE id IS NOT NULL AND NOT EXISTS (SELECT FROM retrieval_indexes WHERE id = known.id)
    LIMIT ${indexesAtOnce}`.pipe(ids)

  const sweepStep = (indexId: number) =>
    sql`DELETE FROM retrieval_postings WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM retrieval_postings WHERE index_id = ${indexId} LIMIT ${rowsAtOnce}
      )) RETURNING 1`

  const sweep = Effect.fnUntraced(function* (indexId: number) {
    while ((yield* sweepStep(indexId)).length > 0) yield* Effect.yieldNow
  })

  /** Locks the index against writers until the transaction ends; false while a writer has the lock. */
  const lock = (indexId: number) =>
    Effect.map(
      sql`SELECT FROM retrieval_indexes WHERE id = ${indexId} FOR NO KEY UPDATE SKIP LOCKED`,
      (rows) => rows.length > 0
    )

  /**
   * Reads the positions that stay (of files, of unfinished writes, and all future ones), and the size of what
   * goes.
   */
  const present = (indexId: number) =>
    sql`SELECT (files.ranges + int4multirange(int4range(next_position, NULL)) + (
          SELECT coalesce(range_agg(int4range(base, base + chunks)), '{}') FROM retrieval_writes WHERE index_id = id
        ))::text AS ranges,
        retrieval_indexes.chunks - files.chunks AS gone_chunks,
        (retrieval_indexes.tokens - files.tokens)::float8 AS gone_tokens
      FROM retrieval_indexes CROSS JOIN LATERAL (
        SELECT coalesce(sum(chunks), 0)::int AS chunks, coalesce(sum(tokens), 0) AS tokens,
          coalesce(range_agg(int4range(base, base + chunks)), '{}'::int4multirange) AS ranges
        FROM retrieval_files WHERE index_id = id
      ) AS files
      WHERE id = ${indexId}`.pipe(rowAs(Present))

  /** Compacts the rows behind a place, and returns the last of them; undefined when there are no more. */
  const step = Effect.fnUntraced(function* (indexId: number, ranges: string, { base, term }: Place) {
    if (!(yield* lock(indexId))) return { term, base }
    return yield* sql`WITH batch AS MATERIALIZED (
        SELECT ctid AS place, term, base, postings FROM retrieval_postings
        WHERE index_id = ${indexId} AND (term, base) > (${term}, ${base}::int) ORDER BY term, base LIMIT ${rowsAtOnce}
      ), kept AS MATERIALIZED (
        SELECT place, term, base, cardinality(postings) AS before, ARRAY(
          SELECT packed FROM unnest(postings) WITH ORDINALITY AS posting (packed, rank)
          WHERE ${ranges}::int4multirange @>
            ((base >> ${positionBits} << ${positionBits}) | (packed >> ${frequencyBits + lengthBits}))
          ORDER BY rank
        ) AS postings
        FROM batch
      ), emptied AS (
        DELETE FROM retrieval_postings WHERE ctid = ANY (ARRAY(SELECT place FROM kept WHERE postings = '{}'))
      ), changed AS (
        INSERT INTO retrieval_postings AS stored (index_id, term, base, postings)
        SELECT ${indexId}, term, base, postings FROM kept
        WHERE postings <> '{}' AND cardinality(postings) < before
        ON CONFLICT (index_id, term, base) DO UPDATE SET postings = excluded.postings
      )
      SELECT term, base FROM batch ORDER BY term DESC, base DESC LIMIT 1`.pipe(rowAs(Place))
  }, sql.withTransaction)

  const compactIndex = Effect.fnUntraced(function* (indexId: number) {
    const found = yield* present(indexId)
    if (found === undefined) return
    let place: Place | undefined = { term: "", base: -1 }
    while (place !== undefined) {
      const next: Place | undefined = yield* step(indexId, found.ranges, place)
      // The index is being written to, or was deleted: the next round takes it up.
      if (next?.term === place.term && next.base === place.base) return
      place = next
    }
    yield* sql`UPDATE retrieval_indexes SET chunks = chunks - ${found.goneChunks},
        tokens = tokens - ${found.goneTokens}::bigint, languages = ARRAY(
          SELECT DISTINCT language FROM retrieval_files WHERE index_id = ${indexId} ORDER BY language
        )
      WHERE id = ${indexId}`
  })

  const round = Effect.fnUntraced(function* (shareMin: number, chunksMin: number) {
    yield* giveUpWrites(sql, sql`begun_at < now() - make_interval(hours => ${writeHoursMax})`)
    for (const { id } of yield* orphaned) yield* sweep(id)
    for (const { id } of yield* sparse(shareMin, chunksMin)) yield* compactIndex(id)
  })

  /** Compacts the indexes whose share of removed chunks is large. */
  const compact = round(goneShareMin, goneChunksMin)

  /** Removes every posting of a deleted file. */
  const erase = round(0, 1)

  /** Compacts from time to time, for as long as the scope is open. */
  const start = later(erase).pipe(
    Effect.andThen(Effect.repeat(later(compact), { times: roundsBetweenErasures - 2 })),
    Effect.forever,
    Effect.forkScoped,
    Effect.asVoid
  )

  return { compact, erase, start }
})

/** Number of written chunks, and their share of all chunks, from which on the tables are vacuumed. */
const writtenChunksMin = 500
const writtenShareMin = 0.1

const StoredChunks = Schema.Struct({ chunks: Schema.Finite })

/**
 * Vacuums the tables of the index in proportion to what is written. The space of outdated rows is then
 * reused, and terms are read from the database's index alone. Autovacuum would come a minute after a load, at
 * the earliest.
 */
export const makeVacuum = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let written = 0

  const isDue = Effect.gen(function* () {
    if (written < writtenChunksMin) return false
    const stored = yield* sql`SELECT sum(chunks)::float8 AS chunks FROM retrieval_indexes`.pipe(
      rowAs(StoredChunks)
    )
    return written >= (stored?.chunks ?? 0) * writtenShareMin
  })

  /** Counts written chunks, and vacuums once there are enough. Call it outside of any transaction. */
  const afterWriting = (chunks: number) =>
    Effect.gen(function* () {
      written += chunks
      if (!(yield* isDue)) return
      written = 0
      // A vacuum that runs already, in this or another process, will do: its tables are skipped.
      yield* sql`VACUUM (SKIP_LOCKED, TRUNCATE FALSE) retrieval_postings, retrieval_passages`
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("The search index could not be vacuumed", cause)))

  return { afterWriting }
})
