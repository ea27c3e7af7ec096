import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AttributeFilter, FileAttributes } from "../../../src/domain/FileAttributes.ts"
import type { Query } from "../../../src/retrieval/search/Searching.ts"
import { addFile, type Corpus, searchAll, searchLayer, someProject } from "../SearchFixture.ts"

/** A file that can be found, with attributes. */
const addNoted = Effect.fnUntraced(function* (
  corpus: Corpus,
  filename: string,
  attributes: FileAttributes,
  text: string
) {
  const sql = yield* SqlClient.SqlClient
  const { fileId } = yield* addFile(corpus, text, filename)
  yield* sql`UPDATE project_files SET attributes = ${JSON.stringify(attributes)}::jsonb
    WHERE project_id = ${corpus.projectId}::uuid AND file_id = ${fileId}::uuid`
  return fileId
})

const namesFound = (corpus: Corpus, query: Query) =>
  Effect.map(searchAll([corpus], query), ({ hits }) => hits.map(({ filename }) => filename))

const old = { type: "lt", key: "year", value: 2_000 } as const
const isOpen = { type: "eq", key: "open", value: true } as const

const cases: ReadonlyArray<readonly [AttributeFilter, ReadonlyArray<string>]> = [
  [{ type: "eq", key: "kind", value: "report" }, ["a", "b"]],
  [{ type: "eq", key: "year", value: "1999" }, []],
  [{ type: "eq", key: "open", value: false }, ["b"]],
  [{ type: "ne", key: "kind", value: "report" }, ["c", "d"]],
  [old, ["a"]],
  [{ type: "lte", key: "year", value: 2_010.5 }, ["a", "b"]],
  [{ type: "gt", key: "year", value: 1_999 }, ["b"]],
  [{ type: "gte", key: "year", value: 1_999 }, ["a", "b"]],
  [{ type: "gt", key: "day", value: "2024-01-31" }, ["c"]],
  [{ type: "lt", key: "year", value: "3" }, ["c"]],
  [{ type: "in", key: "year", value: [2_010.5, "2001"] }, ["b", "c"]],
  [{ type: "nin", key: "year", value: [2_010.5, "2001"] }, ["a", "d"]],
  [{ type: "and", filters: [old, isOpen] }, ["a"]],
  [{ type: "or", filters: [old, { type: "and", filters: [isOpen] }] }, ["a", "c"]],
  [
    {
      type: "and",
      filters: [
        { type: "or", filters: [old, isOpen] },
        { type: "ne", key: "year", value: 1_999 }
      ]
    },
    ["c"]
  ],
  [{ type: "eq", key: "a'b\"c", value: "d'e\"\\" }, ["d"]]
]

layer(searchLayer)("A search among the files that a filter leaves", (it) => {
  it.effect("a filtered search compares attributes by their type and value", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      const text = (name: string) => `The zebra of ${name} has stripes.`
      const noted: ReadonlyArray<readonly [string, FileAttributes]> = [
        ["a", { kind: "report", year: 1_999, open: true }],
        ["b", { kind: "report", year: 2_010.5, open: false }],
        ["c", { kind: "note", year: "2001", open: true, day: "2024-02-01" }],
        ["d", { "a'b\"c": "d'e\"\\" }]
      ]
      for (const [name, attributes] of noted) yield* addNoted(corpus, name, attributes, text(name))
      for (const [filter, expected] of cases) {
        const names = yield* namesFound(corpus, { text: "zebra", limit: 10, filter })
        assert.deepStrictEqual(names.toSorted(), expected, JSON.stringify(filter))
      }
    })
  )

  it.effect("a filtered search finds as many as are wanted, though better ones are left out", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      for (let at = 0; at < 30; at++) {
        yield* addNoted(corpus, `better ${at}`, { kind: "x" }, `Zebra ${at} zebra ${at * 7} zebra.`)
      }
      const weak = ["one", "two", "three"]
      for (const name of weak) {
        const filler = `The ${name} garden of the house was green and wide in the summer of that year.`
        yield* addNoted(corpus, name, { kind: "y" }, `${filler} A zebra was there.`)
      }
      const query = { text: "zebra", limit: 3 }
      assert.notDeepEqual(yield* namesFound(corpus, query), weak)
      const filter = { type: "eq", key: "kind", value: "y" } as const
      const names = yield* namesFound(corpus, { ...query, filter })
      assert.deepStrictEqual(names.toSorted(), weak.toSorted())
    })
  )

  it.effect("a filtered search finds frequent words where all passages with the rare one are left out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const corpus = yield* someProject
      yield* addNoted(corpus, "rare", { kind: "x" }, "The zebra walks through the harbor.")
      yield* addNoted(corpus, "frequent", { kind: "y" }, "Ships sleep in the harbor.")
      // Chunks of files that are gone, but not swept yet: they make the words too frequent to be added up for
      // all.
      yield* sql`INSERT INTO retrieval_postings (index_id, term, base, postings)
        SELECT id, term, row << 16, (SELECT array_agg(at << 15 | 1 << 10 | 9) FROM generate_series(0, 30000) AS at)
        FROM retrieval_indexes, generate_series(1, 4) AS row, unnest('{harbor,ship}'::text[]) AS term WHERE project_id = ${corpus.projectId}::uuid`
      yield* sql`UPDATE retrieval_indexes SET chunks = 4000000, tokens = 40000000
        WHERE project_id = ${corpus.projectId}::uuid`
      const filter = { type: "eq", key: "kind", value: "y" } as const
      const query = { text: "zebra harbor ships", limit: 5, filter }
      assert.deepStrictEqual(yield* namesFound(corpus, query), ["frequent"])
    })
  )

  it.effect("a filtered search adds no passage of a file that is left out", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      yield* addNoted(corpus, "a", { kind: "x" }, "Zebras have stripes.")
      yield* addNoted(corpus, "b", { kind: "y" }, "Lions have manes.")
      yield* addNoted(corpus, "c", { kind: "y" }, "Nothing else is known.")
      const filter = { type: "eq", key: "kind", value: "y" } as const
      const query = { text: "lions", limit: 5, characters: 1_000 }
      assert.deepStrictEqual(yield* namesFound(corpus, query), ["b", "a", "c"])
      assert.deepStrictEqual(yield* namesFound(corpus, { ...query, filter }), ["b", "c"])
      const none = { type: "eq", key: "kind", value: "z" } as const
      const found = yield* searchAll([corpus], { ...query, filter: none })
      assert.deepStrictEqual(found, { hits: [], nothing: "no_match" })
    })
  )
})
