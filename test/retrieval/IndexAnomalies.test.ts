import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { policyLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { addFile, indexFile, search, someProject } from "./SearchFixture.ts"

const failing = Layer.merge(Retrieval.layer, policyLayer).pipe(
  Layer.provide(Layer.succeed(AppConfig, testConfig())),
  Layer.provideMerge(TestDatabase.layerFailing)
)

/** More than an indexing takes. */
const statementsMax = 60

layer(failing)("An indexing that breaks off", (it) => {
  it.effect(
    "an indexing that breaks off leaves the file as it was, or wholly as it is to be, and may be repeated",
    () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const retrieval = yield* Retrieval
        const corpus = yield* someProject
        const file = yield* addFile(corpus, "The comet has a tail of dust. ".repeat(60))
        const fresh = { ...file, text: "The meteor has no tail at all. ".repeat(120) }
        const counts = Effect.gen(function* () {
          return {
            comets: (yield* search(corpus, "comet", 50)).hits.length,
            meteors: (yield* search(corpus, "meteor", 50)).hits.length
          }
        })
        yield* retrieval.index(corpus.projectId, fresh)
        const wanted = yield* counts
        assert.strictEqual(wanted.comets, 0)
        yield* indexFile(corpus, file)
        const before = yield* counts
        assert.strictEqual(before.meteors, 0)
        for (const when of ["before", "after"] as const) {
          for (let n = 1; ; n++) {
            assert.isAtMost(n, statementsMax)
            yield* indexFile(corpus, file)
            yield* faults.failStatement(n, when)
            const done = yield* Effect.exit(retrieval.index(corpus.projectId, fresh))
            const { failed } = yield* faults.seen
            yield* faults.off
            if (!failed) break
            assert.include(
              [JSON.stringify(before), JSON.stringify(wanted)],
              JSON.stringify(yield* counts),
              `${n}`
            )
            if (done._tag === "Failure") {
              yield* retrieval.index(corpus.projectId, fresh)
              assert.deepStrictEqual(yield* counts, wanted)
            }
          }
        }
      })
  )
})
