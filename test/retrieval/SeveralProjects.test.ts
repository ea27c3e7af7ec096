import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { addFile, type Corpus, search, searchAll, searchLayer, someProject } from "./SearchFixture.ts"

const texts: ReadonlyArray<string> = [
  "The zebra has stripes, and the zebra of the north has more of them than others.",
  "The lion has a mane. A lion without a mane is a young one.",
  "Zebras and lions drink from the same river in the evening.",
  "The river is deep where the harbour begins, and ships anchor there.",
  "A harbour without ships is a lonely place, said the captain of the last one.",
  "Stripes of paint mark the places of the ships along the river."
]
const questions = ["zebra stripes", "lion river", "ships in the harbour", "zbra river", "the captain's lion"]

const shown = ({
  hits
}: {
  readonly hits: ReadonlyArray<{ readonly filename: string; readonly score: number }>
}) => hits.map(({ filename, score }) => `${filename} ${score.toFixed(9)}`)

const filled = Effect.fnUntraced(function* (some: ReadonlyArray<string>) {
  const corpus = yield* someProject
  for (const text of some) yield* addFile(corpus, text, `${texts.indexOf(text)}.md`)
  return corpus
})

layer(searchLayer)("A search in several projects", (it) => {
  it.effect("a search in several projects ranks like one in a project with all the files", () =>
    Effect.gen(function* () {
      const whole = yield* filled(texts)
      const parts: Array<Corpus> = []
      for (const some of [texts.slice(0, 1), texts.slice(1, 4), [], texts.slice(4)]) {
        parts.push(some.length === 0 ? yield* someProject : yield* filled(some))
      }
      for (const text of questions) {
        const expected = shown(yield* search(whole, text))
        assert.isNotEmpty(expected)
        assert.deepStrictEqual(shown(yield* searchAll(parts, { text, limit: 20 })), expected, text)
        const two = yield* searchAll(parts, { text, limit: 2 })
        assert.deepStrictEqual(shown(two), expected.slice(0, 2), text)
      }
      const everything = yield* searchAll(parts, { text: "lion", limit: 20, characters: 10_000 })
      assert.lengthOf(everything.hits, texts.length)
      for (const { end, filename, start, text } of everything.hits) {
        assert.strictEqual(text, texts[Number.parseInt(filename, 10)]?.slice(start, end))
      }
    })
  )

  it.effect("a search in several projects never joins the end of one and the beginning of another", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* someProject, yield* someProject]
      yield* addFile(one, "The zebra walks.", "one.md")
      yield* addFile(other, "A zebra runs.", "other.md")
      const { hits } = yield* searchAll([one, other, one], { text: "zebra", limit: 5 })
      assert.deepStrictEqual(hits.map(({ text }) => text).toSorted(), ["A zebra runs.", "The zebra walks."])
    })
  )

  it.effect("a search in several projects says why it found nothing in all of them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [empty, full] = [yield* someProject, yield* filled(texts.slice(0, 1))]
      const query = { text: "quetzalcoatl", limit: 5 }
      assert.strictEqual((yield* searchAll([empty, empty], query)).nothing, "no_files")
      assert.strictEqual((yield* searchAll([empty, full], query)).nothing, "no_match")
      yield* sql`UPDATE project_files SET status = 'pending' WHERE project_id = ${full.projectId}::uuid`
      assert.strictEqual((yield* searchAll([empty, full], query)).nothing, "still_indexing")
    })
  )

  it.effect("rates passages from 0 to 1, and gives those of a least score only", () =>
    Effect.gen(function* () {
      const corpus = yield* filled(texts)
      const text = "zebra stripes of the north"
      const rated = (scoreMin: number) => searchAll([corpus], { text, limit: 20, rated: { scoreMin } })
      const { hits } = yield* rated(0)
      const scores = hits.map(({ score }) => score)
      assert.isAbove(scores[0] ?? 0, 0.5)
      assert.isBelow(scores[0] ?? 1, 1)
      assert.isBelow(scores.at(-1) ?? 1, 0.5)
      assert.isAbove(scores.at(-1) ?? 0, 0)
      assert.deepStrictEqual(
        hits.map(({ filename }) => filename),
        (yield* search(corpus, text)).hits.map(({ filename }) => filename)
      )
      const good = yield* rated(0.5)
      assert.deepStrictEqual(
        good.hits,
        hits.filter(({ score }) => score >= 0.5)
      )
      assert.deepStrictEqual(yield* rated(1), { hits: [], nothing: "no_match" })
      // A word that no text has is one of two, however rare it is.
      const half = yield* searchAll([corpus], { text: "zebra xylophone", limit: 1, rated: { scoreMin: 0.4 } })
      assert.lengthOf(half.hits, 1)
    })
  )
})
