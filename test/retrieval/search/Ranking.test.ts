import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { idfOf, queryTerms, wordsMax } from "../../../src/retrieval/search/Ranking.ts"
import { addFile, explain, searchLayer, someProject } from "../SearchFixture.ts"

/** Words that are their own stems, and that no list of small words has. */
const vocabulary = ["amber", "birch", "coral", "delta", "ember", "fjord"]

const Corpus = Schema.Array(
  Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: vocabulary.length - 1 }))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(25)
  )
).check(Schema.isMinLength(1), Schema.isMaxLength(12))

/** BM25 as the books have it, with k1 1.5 and b 0.7. */
const scoresOf = (documents: ReadonlyArray<ReadonlyArray<string>>, terms: ReadonlyArray<string>) => {
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
  return documents.map((document) =>
    terms.reduce((sum, term) => {
      const frequency = document.filter((word) => word === term).length
      const holding = documents.filter((other) => other.includes(term)).length
      const idf = Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5))
      const length = 1.5 * (1 - 0.7 + (0.7 * document.length) / average)
      return sum + (idf * frequency * 2.5) / (frequency + length)
    }, 0)
  )
}

const sum = (parts: ReadonlyArray<{ readonly score: number }>): number =>
  parts.reduce((total, { score }) => total + score, 0)

layer(searchLayer)("The score", (it) => {
  it.effect.prop(
    "the score is that of BM25",
    [Corpus],
    ([picks]) =>
      Effect.gen(function* () {
        const corpus = yield* someProject
        // Every text has a name, which counts as said, and a word of its own, so that none repeats another.
        const documents = picks.map((words, at) => [
          `doc${at}x`,
          ...words.map((word) => vocabulary[word]!),
          // With them the first line is too long for a title.
          ...Array.from({ length: 30 }, (_, more) => `own${at}x${more}y`)
        ])
        for (const [at, [, ...words]] of documents.entries())
          yield* addFile(corpus, words.join(" "), `doc${at}x.md`)
        const { contributions, hits } = yield* explain(corpus, "amber birch coral", 50)
        const expected = scoresOf(documents, ["amber", "birch", "coral"])
        for (const [at, { filename, score }] of hits.entries()) {
          const byWord = contributions[at]!.filter(({ term }) => vocabulary.includes(term))
          assert.closeTo(sum(byWord), expected[Number(/\d+/.exec(filename)![0])]!, 1e-6)
          // The rest of the score is for words near each other.
          assert.closeTo(sum(contributions[at]!), score, 1e-6)
        }
        const scores = hits.map(({ score }) => score)
        assert.deepStrictEqual(
          scores,
          scores.toSorted((one, other) => other - one)
        )
        assert.lengthOf(hits, expected.filter((score) => score > 0.1 * Math.max(...expected)).length)
      }),
    { arbitrary: { runs: 15 } }
  )

  it.effect("the search finds the same whether or not common words are counted for all chunks", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      // More chunks hold the word than are added up at once.
      const sections = Array.from(
        { length: 21_000 },
        (_, at) => `## lantern\n\n${at % 40 === 0 ? "harpoon " : ""}`
      )
      const filler = "steady ".repeat(60)
      const text = sections.map((section, at) => `${section}${filler}${at}.`).join("\n\n")
      yield* addFile(corpus, text, "long.md")
      const { contributions, hits, terms } = yield* explain(corpus, "lantern harpoon", 10)
      assert.isAbove(terms.find(({ term }) => term === "lantern")!.chunks, 20_000)
      assert.lengthOf(hits, 10)
      for (const [at, { score }] of hits.entries()) {
        assert.includeMembers(
          contributions[at]!.map(({ term }) => term),
          ["harpoon", "lantern"]
        )
        assert.closeTo(
          contributions[at]!.reduce((sum, one) => sum + one.score, 0),
          score,
          1e-9
        )
      }
    })
  )
})

describe("Ranking", () => {
  it("queryTerms takes the most discriminative terms, the rarest first", () => {
    const words = Array.from({ length: 60 }, (_, at) => ({
      text: `w${at}`,
      count: 1,
      terms: [`t${at}`],
      edits: 0
    }))
    const frequencies = new Map(words.map(({ terms }, at) => [terms[0]!, at + 1]))
    const terms = queryTerms(words, frequencies, { chunks: 100, tokens: 1_000 })
    assert.lengthOf(terms, wordsMax)
    assert.deepStrictEqual(
      terms.map(({ chunks }) => chunks),
      Array.from({ length: wordsMax }, (_, at) => at + 1)
    )
  })

  it("queryTerms counts how often a question says a term, in whatever form", () => {
    const words = [
      { text: "ship", count: 2, terms: ["ship"], edits: 0 },
      { text: "ships", count: 1, terms: ["ship"], edits: 0 }
    ]
    const [term] = queryTerms(words, new Map([["ship", 3]]), { chunks: 10, tokens: 100 })
    const twice = (2 * 2.2) / 3.2
    assert.closeTo(term!.weight, (twice + 1) * idfOf(10, 3), 1e-9)
  })

  it("idfOf is never negative, so that a term never counts against a chunk", () => {
    assert.isAbove(idfOf(10, 10), 0)
    assert.isAbove(idfOf(5, 10), 0)
  })
})
