import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeCompaction } from "../../../src/retrieval/index/IndexMaintenance.ts"
import { addFile, explain, search, searchLayer, someProject } from "../SearchFixture.ts"

const postingsOf = Effect.fnUntraced(function* (id: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: number }>`SELECT coalesce(sum(cardinality(postings)), 0)::int AS count
    FROM retrieval_postings WHERE index_id = ${id}`
  return row!.count
})

const indexOf = Effect.fnUntraced(function* (projectId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    id: number
    chunks: number
    tokens: number
  }>`SELECT id, chunks, tokens::int AS tokens
    FROM retrieval_indexes WHERE project_id = ${projectId}::uuid`
  return row!
})

const sections = (word: string, count: number) =>
  Array.from({ length: count }, (_, at) => `## ${word} ${at}\n\n${`${word} common `.repeat(40)}`).join("\n\n")

layer(searchLayer)("The compaction of an index", (it) => {
  it.effect("the compaction of an index removes the postings of deleted files, and keeps the others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { compact } = yield* makeCompaction
      const corpus = yield* someProject
      yield* addFile(corpus, sections("kept", 30), "kept.md")
      const { id, ...before } = yield* indexOf(corpus.projectId)
      const postings = yield* postingsOf(id)
      const gone = yield* addFile(corpus, sections("gone", 150), "gone.md")
      yield* sql`DELETE FROM files WHERE id = ${gone.fileId}::uuid`
      const found = yield* search(corpus, "kept common")
      yield* compact
      assert.deepStrictEqual(yield* indexOf(corpus.projectId), { id, ...before })
      assert.strictEqual(yield* postingsOf(id), postings)
      const after = yield* search(corpus, "kept common")
      assert.deepStrictEqual(
        after.hits.map(({ start }) => start).toSorted(),
        found.hits.map(({ start }) => start).toSorted()
      )
      assert.deepStrictEqual((yield* explain(corpus, "gone")).terms, [])
      // Files that are added later are found as well.
      yield* addFile(corpus, "A newcomer, common or not.", "new.md")
      assert.lengthOf((yield* search(corpus, "newcomer")).hits, 1)
    })
  )

  it.effect("the compaction of an index skips an index from which little was deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { compact } = yield* makeCompaction
      const corpus = yield* someProject
      yield* addFile(corpus, sections("kept", 60), "kept.md")
      const gone = yield* addFile(corpus, sections("gone", 5), "gone.md")
      const before = yield* indexOf(corpus.projectId)
      yield* sql`DELETE FROM files WHERE id = ${gone.fileId}::uuid`
      yield* compact
      assert.deepStrictEqual(yield* indexOf(corpus.projectId), before)
    })
  )

  it.effect("the hourly erasure removes every word of a deleted file, however small", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { compact, erase } = yield* makeCompaction
      const corpus = yield* someProject
      yield* addFile(corpus, sections("kept", 60), "kept.md")
      const gone = yield* addFile(corpus, "Only here: xylomarmalade.", "gone.md")
      const { id } = yield* indexOf(corpus.projectId)
      const terms = sql`SELECT term FROM retrieval_postings WHERE index_id = ${id} AND term LIKE 'xylo%'`
      yield* sql`DELETE FROM files WHERE id = ${gone.fileId}::uuid`
      yield* compact
      assert.lengthOf(yield* terms, 1)
      yield* erase
      assert.lengthOf(yield* terms, 0)
      assert.isAbove((yield* search(corpus, "kept common")).hits.length, 0)
    })
  )

  it.effect("the compaction of an index deletes what a deleted project leaves behind", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { compact } = yield* makeCompaction
      const [one, other] = [yield* someProject, yield* someProject]
      for (const corpus of [one, other]) yield* addFile(corpus, sections("word", 20))
      const [gone, kept] = [yield* indexOf(one.projectId), yield* indexOf(other.projectId)]
      const postings = yield* postingsOf(kept.id)
      yield* sql`DELETE FROM projects WHERE id = ${one.projectId}::uuid`
      yield* compact
      assert.strictEqual(yield* postingsOf(gone.id), 0)
      assert.strictEqual(yield* postingsOf(kept.id), postings)
    })
  )
})
