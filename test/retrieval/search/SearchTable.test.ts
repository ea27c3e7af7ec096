import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeSearchTable } from "../../../src/retrieval/search/SearchTable.ts"
import { addFile, searchLayer, someProject } from "../SearchFixture.ts"

const chunks = 100
/** Sections that are a chunk each, with words of their own beside those that they all have. */
const text = Array.from(
  { length: chunks },
  (_, section) => `## Section ${section}\n\n${`comet harbor own${section}word `.repeat(30)}`
).join("\n\n")

/** Rows of tables that this transaction has read. */
const rowsRead = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ postings: number; files: number; noted: number }>`SELECT
      sum(seq_tup_read + idx_tup_fetch) FILTER (WHERE relname = 'retrieval_postings')::int AS postings,
      sum(seq_tup_read + idx_tup_fetch) FILTER (WHERE relname = 'files')::int AS files,
      sum(seq_tup_read + idx_tup_fetch) FILTER (WHERE relname = 'project_files')::int AS noted
    FROM pg_stat_xact_user_tables`
  return row!
})

/**
 * Runs with general plans, which the server chooses for a prepared statement after some executions. They
 * depend on none of the values.
 */
const withGeneralPlans = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    return yield* sql`SET LOCAL plan_cache_mode = force_generic_plan`.pipe(
      Effect.andThen(effect),
      sql.withTransaction
    )
  })

layer(searchLayer)("The statements of a search", (it) => {
  it.effect("the rows of a term are read once, however many chunks they are looked for in", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const table = yield* makeSearchTable
      const corpus = yield* someProject
      yield* addFile(corpus, text)
      // Files of others, among which those of the hits are looked up.
      yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
        SELECT copy, user_id, filename, purpose, bytes, sha256, copy::text, status, created_at
        FROM files CROSS JOIN LATERAL (SELECT gen_random_uuid() AS copy FROM generate_series(1, 200)) AS copies`
      const index = (yield* table.index(corpus.projectId))!
      const [rare, common] = [[{ term: "comet", weight: 2 }], [{ term: "harbor", weight: 1 }]]
      const saturation = { base: 0.4, perToken: 0.01 }
      const many = { candidates: chunks, limit: chunks }
      yield* Effect.gen(function* () {
        const before = yield* rowsRead
        const best = yield* table.best(index.id, { rare, common }, saturation, many)
        const between = yield* rowsRead
        const positions = best.map(({ position }) => position)
        const parts = yield* table.contributions(index.id, [...rare, ...common], saturation, positions)
        const after = yield* rowsRead
        assert.lengthOf(best, chunks)
        assert.lengthOf(parts, 2 * chunks)
        assert.strictEqual(between.postings - before.postings, 2)
        assert.strictEqual(after.postings - between.postings, 2)
        assert.isAtMost(between.files - before.files, chunks)
        // A filter is applied to the files once, and not to each of the chunks.
        const filter = { type: "ne", key: "kind", value: "note" } as const
        const filtered = yield* table.best(index.id, { rare, common }, saturation, many, filter)
        const last = yield* rowsRead
        assert.deepStrictEqual(filtered, best)
        assert.isAtMost(last.noted - after.noted, 2)
        assert.isAtLeast(last.noted - after.noted, 1)
      }).pipe(withGeneralPlans)
    })
  )
})
