import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Policy } from "../../../src/plans/Policy.ts"
import { Retrieval } from "../../../src/retrieval/Retrieval.ts"
import { addFile, type Corpus, searchLayer, someProject } from "../SearchFixture.ts"

const searchWith = Effect.fnUntraced(function* ({ projectId }: Corpus, text: string, characters?: number) {
  const membership = yield* (yield* Policy).projectOfOperator(projectId)
  const query = { text, limit: 3, ...(characters === undefined ? {} : { characters }) }
  return yield* (yield* Retrieval).search(membership, query)
})

const sentence = (word: string) => `The ${word} stands beside many other words of this paragraph. `

layer(searchLayer)("Passages besides the hits", (it) => {
  it.effect("additional passages are the rest of a project that has room, also without any hit", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      const texts = ["Zebras have stripes.", "Lions have manes.", "Nothing else is known."]
      for (const [at, text] of texts.entries()) yield* addFile(corpus, text, `${at}.txt`)
      const found = yield* searchWith(corpus, "lions", 1_000)
      assert.deepStrictEqual(
        found.hits.map(({ text }) => text),
        [texts[1], texts[0], texts[2]]
      )
      assert.isNull(found.nothing)
      const unknown = yield* searchWith(corpus, "xylophone", 1_000)
      assert.deepStrictEqual(
        unknown.hits.map(({ text }) => text),
        texts
      )
      assert.lengthOf((yield* searchWith(corpus, "lions")).hits, 1)
      assert.lengthOf((yield* searchWith(corpus, "lions", 30)).hits, 1)
      assert.strictEqual((yield* searchWith(corpus, "xylophone", 30)).nothing, "no_match")
    })
  )

  it.effect(
    "additional passages are the neighbors of the hits in a larger project, never of another file, and never too many",
    () =>
      Effect.gen(function* () {
        const corpus = yield* someProject
        const words = ["amber", "birch", "coral", "delta", "ember", "fjord"]
        const text = words.map((word) => sentence(word).repeat(16)).join("\n\n")
        yield* addFile(corpus, text, "long.txt")
        yield* addFile(corpus, sentence("granite").repeat(16), "other.txt")
        const middle = (yield* searchWith(corpus, "coral", 3_500)).hits
        const [first] = middle
        assert.include(first!.text, "coral")
        assert.isAbove(middle.length, 1)
        assert.isAtMost(
          middle.reduce((sum, hit) => sum + hit.text.length, 0),
          3_500
        )
        for (const hit of middle.slice(1)) {
          assert.strictEqual(hit.filename, "long.txt")
          assert.isBelow(hit.score, first!.score)
          assert.strictEqual(text.slice(hit.start, hit.end), hit.text)
        }
        const last = (yield* searchWith(corpus, "fjord", 3_500)).hits
        assert.isTrue(last.every(({ filename }) => filename === "long.txt"))
      })
  )

  it.effect(
    "additional passages are the rest of a project that has just room, however its texts are cut, and nothing twice",
    () =>
      Effect.gen(function* () {
        const corpus = yield* someProject
        const words = ["amber", "birch", "coral", "delta", "ember", "fjord", "gorse"]
        const long = words.map((word) => sentence(word).repeat(16).trim()).join("\n\n")
        yield* addFile(corpus, long, "long.txt")
        const short = Array.from(
          { length: 60 },
          (_, at) => `The number of this short note is ${at + 1_000} in all.`
        )
        for (const [at, text] of short.entries()) yield* addFile(corpus, text, `${at}.txt`)
        const characters = long.length + short.join("").length
        for (const question of [
          "xylophone",
          "coral",
          "What stands beside many other words of this paragraph?"
        ]) {
          const { hits } = yield* searchWith(corpus, question, characters)
          const parts = hits
            .filter(({ filename }) => filename === "long.txt")
            .toSorted((one, other) => one.start - other.start)
          for (const hit of parts) assert.strictEqual(long.slice(hit.start, hit.end), hit.text)
          assert.strictEqual(
            parts.map(({ text }) => text.replaceAll(/\s+/g, "")).join(""),
            long.replaceAll(/\s+/g, "")
          )
          assert.lengthOf(hits, parts.length + short.length)
        }
        const { nothing } = yield* searchWith(corpus, "xylophone", characters - 1)
        assert.strictEqual(nothing, "no_match")
      })
  )
})
