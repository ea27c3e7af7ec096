import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect, Record, Schema } from "effect"
import { mean, ndcg } from "./ndcg.ts"
import { addFile, type Corpus, search, searchLayer, someProject } from "./SearchFixture.ts"

const Collection = Schema.fromJsonString(
  Schema.Record(
    Schema.String,
    Schema.Struct({
      /** The texts, by their names. */
      documents: Schema.Record(Schema.String, Schema.String),
      /** The name of the document that answers, by questions. */
      questions: Schema.Record(Schema.String, Schema.String)
    })
  )
)
const languages = Schema.decodeSync(Collection)(
  readFileSync(new URL("collection/languages.json", import.meta.url), "utf8")
)

/** Each language alone reaches it. */
const ndcgMin = 0.9
/** The average loss in a project of all languages. */
const lossMax = 0.02

const nameOf = (language: string, document: string): string => `${language}-${document}.md`

const addLanguage = Effect.fnUntraced(function* (corpus: Corpus, language: string) {
  const { documents = {} } = languages[language] ?? {}
  for (const [name, text] of Object.entries(documents)) yield* addFile(corpus, text, nameOf(language, name))
})

/** The nDCG@10 of the language's questions, and the questions that fall short of the best. */
const measure = Effect.fnUntraced(function* (corpus: Corpus, language: string) {
  const values: Array<number> = []
  const weak: Array<string> = []
  const { questions = {} } = languages[language] ?? {}
  for (const [question, document] of Object.entries(questions)) {
    const { hits } = yield* search(corpus, question)
    const names = hits.map(({ filename }) => filename)
    const value = ndcg(names, { [nameOf(language, document)]: 1 })
    values.push(value)
    if (value < 1) weak.push(`${value.toFixed(2)} ${question}: ${names.slice(0, 3).join(", ")}`)
  }
  return { ndcg: mean(values), weak }
})

layer(searchLayer)(`The search in ${Record.size(languages)} languages`, (it) => {
  it.effect("the search answers in each language, and as well in a project that has all of them", () =>
    Effect.gen(function* () {
      const all = yield* someProject
      for (const language of Object.keys(languages)) yield* addLanguage(all, language)
      const losses: Array<number> = []
      const weak: Array<string> = []
      for (const language of Object.keys(languages)) {
        const own = yield* someProject
        yield* addLanguage(own, language)
        const single = yield* measure(own, language)
        assert.isAtLeast(single.ndcg, ndcgMin, `${language}\n${single.weak.join("\n")}`)
        const mixed = yield* measure(all, language)
        losses.push(single.ndcg - mixed.ndcg)
        weak.push(...mixed.weak)
      }
      assert.isAtMost(mean(losses), lossMax, weak.join("\n"))
    })
  )
})
