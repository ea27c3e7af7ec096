import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { mean, ndcg } from "./ndcg.ts"
import { addFile, search, searchLayer, someProject } from "./SearchFixture.ts"

const read = (name: string): string =>
  readFileSync(new URL(`collection/${name}.json`, import.meta.url), "utf8")

const Documents = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ name: Schema.String, text: Schema.String }))
)
const Questions = Schema.fromJsonString(
  Schema.Array(
    Schema.Struct({
      text: Schema.String,
      /** The grade of each file as an answer, from 1 to 3. */
      relevant: Schema.Record(Schema.String, Schema.Int)
    })
  )
)

/** The present search exceeds this a little, so that a change for the worse fails. */
const ndcgMin = 0.96
const firstIsBestMin = 0.9

layer(searchLayer)("The search in a small collection", (it) => {
  it.effect("the search in a small collection finds the passages that answer a question", () =>
    Effect.gen(function* () {
      const corpus = yield* someProject
      for (const { name, text } of Schema.decodeSync(Documents)(read("documents")))
        yield* addFile(corpus, text, name)
      const weak: Array<string> = []
      const values: Array<number> = []
      let bestFirst = 0
      const questions = Schema.decodeSync(Questions)(read("questions"))
      for (const { relevant, text } of questions) {
        const { hits } = yield* search(corpus, text)
        const names = hits.map(({ filename }) => filename)
        const value = ndcg(names, relevant)
        values.push(value)
        if (relevant[names[0] ?? ""] === Math.max(...Object.values(relevant))) bestFirst++
        if (value < 1) weak.push(`${value.toFixed(2)} ${text}: ${names.slice(0, 3).join(", ")}`)
      }
      assert.isAtLeast(mean(values), ndcgMin, weak.join("\n"))
      assert.isAtLeast(bestFirst / questions.length, firstIsBestMin, weak.join("\n"))
    })
  )
})
