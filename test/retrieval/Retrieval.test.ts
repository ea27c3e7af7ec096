import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import {
  addFile,
  explain,
  indexFile,
  search,
  searchLayer,
  someCorpusFile,
  someProject
} from "./SearchFixture.ts"

const namesOf = ({ hits }: { readonly hits: ReadonlyArray<{ readonly filename: string }> }) =>
  hits.map(({ filename }) => filename)

layer(searchLayer)("Retrieval", (it) => {
  it.effect("retrieval gives passages as they stand in the file", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      const filler = "Nothing of interest is said in this sentence about gardens. ".repeat(40)
      const text = `# Guide 😀\n\n${filler}\n\n## Tides\n\nThe ebb lasts six hours. 海 😀 The flood too.\n\n${filler}`
      const file = yield* someCorpusFile(corpus, text, "tides.md")
      yield* indexFile(corpus, { ...file, pages: [0, text.indexOf("## Tides")] })
      const { hits, nothing } = yield* search(corpus, "how long is the ebb")
      assert.isNull(nothing)
      const hit = hits[0]!
      assert.strictEqual(hit.text, text.slice(hit.start, hit.end))
      assert.include(hit.text, "The ebb lasts six hours")
      assert.deepStrictEqual(hit.headings, ["Guide 😀", "Tides"])
      assert.strictEqual(hit.page, 2)
      assert.strictEqual(hit.fileId, file.fileId)
      for (const one of hits) assert.strictEqual(one.text, text.slice(one.start, one.end))
    })
  )

  it.effect("retrieval says why it found nothing", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      assert.deepStrictEqual(yield* search(corpus, "harbour"), { hits: [], nothing: "no_files" })
      const file = yield* someCorpusFile(corpus, "The harbour is deep.")
      assert.deepStrictEqual(yield* search(corpus, "harbour"), { hits: [], nothing: "still_indexing" })
      yield* indexFile(corpus, file)
      assert.deepStrictEqual(yield* search(corpus, "quetzalcoatl"), { hits: [], nothing: "no_match" })
      assert.lengthOf((yield* search(corpus, "harbour")).hits, 1)
    })
  )

  it.effect("retrieval answers any question without an error", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      yield* addFile(corpus, "The harbour of the town is deep; ships anchor there.")
      for (const text of [
        "",
        "   ",
        "?!'\"; -- \\ % _ :* & | ! ( ) <->",
        "\0 \ud800 \u{10ffff}",
        "the of and",
        "😀😀",
        "q".repeat(100_000),
        "'"
      ]) {
        assert.strictEqual((yield* search(corpus, text)).nothing, "no_match", text.slice(0, 20))
      }
      const long = Array.from({ length: 5_000 }, (_, at) => `harbour word${at}`).join(" ")
      assert.lengthOf((yield* search(corpus, long)).hits, 1)
      assert.lengthOf((yield* search(corpus, "harbour", 0)).hits, 0)
      for (const text of [
        '"harbour" AND ships',
        "harbour's :* ships!",
        "HARBOURS",
        "harbuor",
        "hharbour anchro"
      ]) {
        assert.lengthOf((yield* search(corpus, text)).hits, 1, text)
      }
    })
  )

  it.effect("retrieval finds nothing of other projects", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* someProject, yield* someProject]
      yield* addFile(one, "A lighthouse on the cliff.", "one.md")
      yield* addFile(other, "A lighthouse in the valley.", "other.md")
      assert.deepStrictEqual(namesOf(yield* search(one, "lighthouse")), ["one.md"])
      assert.deepStrictEqual(namesOf(yield* search(other, "lighthouse")), ["other.md"])
    })
  )

  it.effect("retrieval replaces what was indexed of a file before", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      const file = yield* addFile(corpus, "Copper melts early.")
      yield* indexFile(corpus, { ...file, text: "Tungsten melts late.", filename: "metals.md" })
      assert.lengthOf((yield* search(corpus, "copper")).hits, 0)
      assert.deepStrictEqual(namesOf(yield* search(corpus, "tungsten")), ["metals.md"])
    })
  )

  it.effect("retrieval finds nothing in files that are gone, from that moment on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const retrieval = yield* Retrieval
      const corpus = yield* someProject
      const find = Effect.map(search(corpus, "granite"), namesOf)
      const [a, b, c] = [
        yield* addFile(corpus, "Granite is hard.", "a.md"),
        yield* addFile(corpus, "Granite is grey or red.", "b.md"),
        yield* addFile(corpus, "Granite is found in mountains.", "c.md")
      ]
      assert.sameMembers(yield* find, ["a.md", "b.md", "c.md"])
      yield* retrieval.remove(corpus.projectId, a.fileId)
      assert.sameMembers(yield* find, ["b.md", "c.md"])
      yield* sql`DELETE FROM project_files WHERE file_id = ${b.fileId}::uuid`
      assert.sameMembers(yield* find, ["c.md"])
      yield* sql`DELETE FROM files WHERE id = ${c.fileId}::uuid`
      assert.sameMembers(yield* find, [])
      // A file that has left the corpus doesn't come back by an indexing that began before.
      assert.deepStrictEqual(yield* retrieval.index(corpus.projectId, b), { chunks: 0 })
      assert.sameMembers(yield* find, [])
      yield* sql`DELETE FROM projects WHERE id = ${corpus.projectId}::uuid`
      const rows = yield* sql`SELECT FROM retrieval_indexes WHERE project_id = ${corpus.projectId}::uuid`
      assert.lengthOf(rows, 0)
    })
  )

  it.effect("retrieval finds what is left though all better candidates are gone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const corpus = yield* someProject
      const best = Array.from(
        { length: 600 },
        (_, at) => `## Part ${at}\n\n${`Basalt basalt ${at} `.repeat(40)}`
      )
      const gone = yield* addFile(corpus, best.join("\n\n"), "gone.md")
      yield* addFile(
        corpus,
        "Once there was basalt, among many other words that make it score less.",
        "left.md"
      )
      yield* sql`DELETE FROM project_files WHERE file_id = ${gone.fileId}::uuid`
      assert.deepStrictEqual(namesOf(yield* search(corpus, "basalt")), ["left.md"])
    })
  )

  it.effect("retrieval indexes files of one project side by side", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      const files = yield* Effect.forEach(Array.from({ length: 12 }), (_, at) =>
        someCorpusFile(corpus, `Shared words about rivers, and number${at} alone.`, `${at}.md`)
      )
      yield* Effect.forEach(files, (file) => indexFile(corpus, file), { concurrency: 4 })
      assert.lengthOf((yield* search(corpus, "rivers")).hits, 12)
      assert.deepStrictEqual(namesOf(yield* search(corpus, "number7")), ["7.md"])
    })
  )

  it.effect("retrieval explains the terms by which it found a passage", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      yield* addFile(corpus, "Glaciers carve valleys.", "a.md")
      yield* addFile(corpus, "Rivers carve valleys, too.", "b.md")
      const { contributions, hits, languages, terms } = yield* explain(corpus, "glaciers carve the valeys")
      assert.deepStrictEqual(languages, ["english"])
      assert.deepStrictEqual(
        terms.map(({ chunks, edits, term, word }) => ({ term, word, edits, chunks })),
        [
          { term: "glacier", word: "glaciers", edits: 0, chunks: 1 },
          { term: "carv", word: "carve", edits: 0, chunks: 2 },
          { term: "valley", word: "valeys", edits: 1, chunks: 2 }
        ]
      )
      assert.deepStrictEqual(namesOf({ hits }), ["a.md", "b.md"])
      for (const [at, hit] of hits.entries()) {
        const sum = contributions[at]!.reduce((total, { score }) => total + score, 0)
        assert.closeTo(sum, hit.score, 1e-9)
      }
    })
  )
})
