import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Retrieval } from "../../../src/retrieval/Retrieval.ts"
import { failuresMax, makeEmbeddings, openSecondsMin } from "../../../src/retrieval/vectors/Embeddings.ts"
import { AppConfig } from "../../../src/settings/AppConfig.ts"
import { policyLayer } from "../../auth/AccountsFixture.ts"
import { testConfig } from "../../support/TestConfig.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until, untilValue } from "../../support/until.ts"
import { addFile, type Corpus, indexFile, search, searchAll, someProject } from "../SearchFixture.ts"
import { type EmbeddingServer, makeEmbeddingServer, type Misbehaviour } from "./EmbeddingServer.ts"

/** One process with embeddings, which ends when the effect does; the database stays. */
const withProcess =
  (server: EmbeddingServer, logged: Array<string> = [], model = "hashes") =>
  <A, E, R>(self: Effect.Effect<A, E, R>) => {
    const settings = testConfig({
      retrieval: {
        embeddingsUrl: server.url,
        embeddingsKey: Redacted.make("sesame"),
        embeddingsModel: model,
        embeddingsSeconds: 2
      }
    })
    const process = Layer.merge(Layer.fresh(Retrieval.layer), policyLayer).pipe(
      Layer.provide(Layer.succeed(AppConfig, settings)),
      Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn")),
      Layer.provideMerge(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]))
    )
    return Effect.scoped(Effect.provide(self, process))
  }

const namesOf = ({ hits }: { readonly hits: ReadonlyArray<{ readonly filename: string }> }) =>
  hits.map(({ filename }) => filename)

/** Waits until all files of the project are embedded by the model. */
const embedded = Effect.fnUntraced(function* ({ projectId }: Corpus, model = "hashes") {
  const sql = yield* SqlClient.SqlClient
  const missing = sql`SELECT FROM retrieval_files
    WHERE project_id = ${projectId}::uuid AND embedded_by IS DISTINCT FROM ${model}`
  yield* untilValue(missing, ({ length }) => length === 0)
})

const vectorsOf = Effect.fnUntraced(function* ({ projectId }: Corpus) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ model: string; chunks: number }>`SELECT model, count(*)::int AS chunks
    FROM retrieval_embeddings JOIN retrieval_indexes ON id = index_id
    WHERE project_id = ${projectId}::uuid GROUP BY model ORDER BY model`
})

/** Ends the pause after an attempt that failed. */
const restsOver = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE index_jobs SET visible_at = now() WHERE queue_name = 'embedding'`
)

const sections = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `## Part ${at}\n\n${`Section ${at} of the manual. `.repeat(30)}`
  ).join("\n\n")

layer(TestDatabase.layer, { excludeTestServices: true })("A search with embeddings", (it) => {
  it.effect("a search with embeddings finds what shares no word with the question and is near to it", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        yield* addFile(corpus, "Soup wants salt, pepper and patience.", "soup.md")
        yield* embedded(corpus)
        const found = yield* search(corpus, "vehicle repaired")
        assert.deepStrictEqual(namesOf(found), ["garage.md"])
        assert.deepStrictEqual(namesOf(yield* search(corpus, "vehicle")), ["garage.md"])
        assert.strictEqual((yield* search(corpus, "quetzalcoatl")).nothing, "no_match")
        assert.isTrue(server.asked.every(({ authorization }) => authorization === "Bearer sesame"))
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("a search with embeddings works in several projects, and with a filter", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const [one, other] = [yield* someProject, yield* someProject]
        const { fileId } = yield* addFile(one, "The automobile was repaired.", "garage.md")
        yield* addFile(one, "Soup wants salt, pepper and patience.", "soup.md")
        yield* addFile(other, "An automobile needs fuel.", "fuel.md")
        yield* sql`UPDATE project_files SET attributes = '{"kind": "work"}' WHERE file_id = ${fileId}::uuid`
        yield* Effect.forEach([one, other], (corpus) => embedded(corpus))
        const query = { text: "vehicle", limit: 5, rated: { scoreMin: 0 } }
        const found = yield* searchAll([other, one], query)
        assert.deepStrictEqual(namesOf(found).toSorted(), ["fuel.md", "garage.md"])
        assert.isTrue(found.hits.every(({ score }) => score > 0 && score <= 1))
        const filter = { type: "eq", key: "kind", value: "work" } as const
        const among = yield* searchAll([other, one], { ...query, filter })
        assert.deepStrictEqual(namesOf(among), ["garage.md"])
        assert.deepStrictEqual(among.hits[0]?.attributes, { kind: "work" })
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect.each<readonly [Misbehaviour, boolean, RegExp]>([
    [null, true, /answers: vectors of hashes have 512 numbers/],
    [{ status: 401 }, false, /no embedding of hashes: HTTP 401/],
    ["silent", false, /no answer in 1.5 seconds/]
  ])("the probe of embeddings reports a server that answers like this: %j", ([how, isWell, detail]) =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      server.behave(() => how)
      yield* Effect.gen(function* () {
        const { probe } = yield* Retrieval
        const told = probe === null ? null : yield* probe
        assert.strictEqual(told?.isWell, isWell)
        assert.match(told?.detail ?? "", detail)
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("a search with embeddings doesn't wait for a silent server each time, and asks again later", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const settings = testConfig({
        retrieval: { embeddingsUrl: server.url, embeddingsModel: "hashes", embeddingsSeconds: 2 }
      }).retrieval
      const made = yield* makeEmbeddings(settings)
      const question = (made ?? assert.fail()).question("Where?")
      const silent = Effect.gen(function* () {
        const before = server.asked.length
        const fiber = yield* Effect.forkChild(question, { startImmediately: true })
        yield* until(Effect.sync(() => server.asked.length > before))
        yield* TestClock.adjust("2 seconds")
        assert.isNull(yield* Fiber.join(fiber))
      })
      server.behave(() => "silent")
      for (let n = 0; n < failuresMax; n++) yield* silent
      // The clock stands still: whoever waited would wait for ever.
      for (let n = 0; n < 20; n++) assert.isNull(yield* question)
      assert.lengthOf(server.asked, failuresMax)
      server.behave(() => null)
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      assert.isNotNull(yield* question)
    }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
  )

  it.effect("another dimension of the vectors is reported in the log and to the operator", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const logged: Array<string> = []
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        yield* embedded(corpus)
        assert.deepStrictEqual(logged, [])
        server.behave(() => ({ dimension: 96 }))
        for (let n = 0; n < 3; n++) yield* search(corpus, "vehicle")
        assert.lengthOf(logged, 1)
        assert.match(
          logged.join(),
          /Vectors of hashes had 512 numbers .* have 96 now.*PARLEY_EMBEDDINGS_MODEL/
        )
        const { probe } = yield* Retrieval
        const told = probe === null ? null : yield* probe
        assert.isFalse(told?.isWell)
        assert.match(told?.detail ?? "", /had 512 numbers/)
      }).pipe(withProcess(server, logged))
    }).pipe(Effect.scoped)
  )

  it.effect("a search with embeddings puts the same meaning before more of the same words", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        server.behave(({ input }) => (input[0] === "physician advice" ? { status: 500 } : null))
        yield* addFile(
          corpus,
          "Advice on gardens, then advice on trees, soil, hedges, ponds, paths, walls and roofs.",
          "gardens.md"
        )
        yield* addFile(corpus, "The doctor advice column of today.", "town.md")
        yield* embedded(corpus)
        const byWords = namesOf(yield* search(corpus, "physician advice"))
        server.behave(() => null)
        const byBoth = namesOf(yield* search(corpus, "physician advice"))
        assert.sameMembers(byBoth, byWords)
        assert.isBelow(byBoth.indexOf("town.md"), byWords.indexOf("town.md"))
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  for (const [name, how] of [
    ["is silent", "silent"],
    ["breaks off", "cut"],
    ["refuses", { status: 400 }],
    ["fails", { status: 503 }],
    ["answers no JSON", { raw: "<html>" }],
    ["answers no embeddings", { raw: '{"data":[]}' }],
    ["answers no numbers", { raw: '{"data":[{"index":0,"embedding":["a"]}]}' }],
    ["answers an empty vector", { raw: '{"data":[{"index":0,"embedding":[]}]}' }],
    ["answers another index", { raw: '{"data":[{"index":3,"embedding":[1]}]}' }],
    ["answers vectors of another dimension", { dimension: 7 }]
  ] as const) {
    it.effect(`a search with embeddings uses words alone when the server ${name}`, () =>
      Effect.gen(function* () {
        const server = yield* makeEmbeddingServer
        const logged: Array<string> = []
        yield* Effect.gen(function* () {
          const corpus = yield* someProject
          yield* addFile(corpus, "The automobile was repaired.", "garage.md")
          yield* addFile(corpus, "A bicycle was repaired by a neighbour.", "bicycle.md")
          yield* embedded(corpus)
          server.behave(() => how)
          assert.deepStrictEqual(namesOf(yield* search(corpus, "neighbour bicycle")), ["bicycle.md"])
          assert.strictEqual((yield* search(corpus, "vehicle")).nothing, "no_match")
          const expected = typeof how === "object" && "dimension" in how ? 1 : 2
          yield* until(Effect.sync(() => logged.length >= expected))
          assert.lengthOf(logged, expected)
          assert.notMatch(logged.join(), /bicycle|vehicle|sesame/)
        }).pipe(withProcess(server, logged))
      }).pipe(Effect.scoped)
    )
  }

  it.effect("a search with embeddings skips the vectors of a project that has too many", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const corpus = yield* someProject
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        yield* embedded(corpus)
        assert.lengthOf((yield* search(corpus, "vehicle")).hits, 1)
        yield* sql`UPDATE retrieval_indexes SET chunks = 20001 WHERE project_id = ${corpus.projectId}::uuid`
        assert.lengthOf((yield* search(corpus, "vehicle")).hits, 0)
        assert.lengthOf((yield* search(corpus, "automobile")).hits, 1)
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("a search with embeddings finds files by words until the server is back", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        server.behave(() => ({ status: 400 }))
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        assert.deepStrictEqual(namesOf(yield* search(corpus, "automobile")), ["garage.md"])
        yield* until(Effect.sync(() => server.asked.some(({ input }) => input[0] !== "automobile")))
        assert.deepStrictEqual(yield* vectorsOf(corpus), [])
        server.behave(() => null)
        yield* Effect.raceFirst(embedded(corpus), Effect.forever(Effect.delay(restsOver, "50 millis")))
        assert.deepStrictEqual(namesOf(yield* search(corpus, "vehicle")), ["garage.md"])
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("the indexing leaves out the passages that the embedding server doesn't take, no others", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        server.behave(({ input }) => (input.some((text) => text.includes("Part 7")) ? { status: 400 } : null))
        const file = yield* addFile(corpus, `${sections(20)}\n\n## Garage\n\nThe automobile was repaired.`)
        yield* embedded(corpus)
        const [{ chunks } = { chunks: 0 }] = yield* vectorsOf(corpus)
        assert.isAbove(chunks, 20)
        const alone = server.asked.filter(({ input }) => input.length === 1 && input[0]?.includes("Part 7"))
        assert.lengthOf(alone, 1)
        const [hit] = (yield* search(corpus, "vehicle repaired garage")).hits
        assert.include(hit?.text, "automobile")
        const parts = yield* search(corpus, "part 7 section 7 manual")
        assert.isTrue(parts.hits.some(({ text }) => text.includes("Section 7")))
        assert.strictEqual(hit?.fileId, file.fileId)
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("the indexing asks for a batch again when the embedding server fails in passing", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const logged: Array<string> = []
      yield* Effect.gen(function* () {
        const corpus = yield* someProject
        server.behave(() => (server.asked.length === 1 ? { status: 503 } : null))
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        yield* embedded(corpus)
        assert.lengthOf(server.asked, 2)
        assert.deepStrictEqual(logged, [])
      }).pipe(withProcess(server, logged))
    }).pipe(Effect.scoped)
  )

  it.effect("the indexing embeds what is left after a restart, and nothing twice", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const corpus = yield* someProject
      const batches = () => server.asked.length
      server.behave(() => (batches() > 2 ? "silent" : null))
      const { chunks } = yield* Effect.gen(function* () {
        const file = yield* addFile(corpus, "To be replaced.", "manual.md")
        const indexed = yield* indexFile(corpus, { ...file, text: sections(100) })
        yield* until(Effect.sync(() => batches() >= 3))
        return indexed
      }).pipe(withProcess(server))
      const [before] = yield* vectorsOf(corpus)
      assert.isTrue(before !== undefined && before.chunks > 0 && before.chunks < chunks)
      server.behave(() => null)
      const askedBefore = server.asked.length
      yield* embedded(corpus).pipe(withProcess(server))
      assert.deepStrictEqual(yield* vectorsOf(corpus), [{ model: "hashes", chunks }])
      const askedAfter = server.asked.slice(askedBefore).flatMap(({ input }) => input)
      assert.lengthOf(askedAfter, chunks - (before?.chunks ?? 0))
    }).pipe(Effect.scoped)
  )

  it.effect("embeddings are shared by the processes, each of which embeds other files", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const corpus = yield* someProject
      server.behave(() => "silent")
      const texts = Array.from({ length: 12 }, (_, at) => `Text ${at} of the library.`)
      yield* Effect.forEach(texts, (text) => addFile(corpus, text)).pipe(withProcess(server))
      const before = server.asked.length
      server.behave(() => null)
      const one = embedded(corpus).pipe(withProcess(server))
      yield* Effect.all([one, one], { concurrency: 2 })
      const asked = server.asked.slice(before).flatMap(({ input }) => input)
      assert.deepStrictEqual(asked.toSorted(), texts.map((text) => `file.md\n${text}`).toSorted())
    }).pipe(Effect.scoped)
  )

  it.effect("embeddings are made for a small project while the server refuses those of a large one", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      server.behave(({ input }) => (input[0]?.includes("Large") === true ? { status: 400 } : null))
      yield* Effect.gen(function* () {
        const [large, small] = [yield* someProject, yield* someProject]
        for (let n = 0; n < 30; n++) yield* addFile(large, `Large text ${n}.`)
        yield* addFile(small, "The automobile was repaired.", "garage.md")
        yield* embedded(small)
        const asked = server.asked.flatMap(({ input }) => input)
        assert.isBelow(asked.length, 25)
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("embeddings are made by the next process when the first one was killed", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const sql = yield* SqlClient.SqlClient
      const corpus = yield* someProject
      server.behave(() => "silent")
      yield* Effect.gen(function* () {
        yield* addFile(corpus, "The automobile was repaired.", "garage.md")
        yield* until(Effect.sync(() => server.asked.length > 0))
      }).pipe(withProcess(server))
      // A killed process gives nothing back: its lock expires.
      yield* sql`UPDATE index_jobs SET attempts = 1, acquired_by = gen_random_uuid(),
        acquired_at = now() - interval '1 hour' WHERE queue_name = 'embedding' AND state = 'pending'`
      server.behave(() => null)
      yield* embedded(corpus).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )

  it.effect("embeddings are made again for another model, and those of the former one are dropped", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      const corpus = yield* someProject
      yield* Effect.andThen(
        addFile(corpus, "The automobile was repaired.", "garage.md"),
        embedded(corpus)
      ).pipe(withProcess(server))
      server.behave(() => ({ dimension: 96 }))
      yield* Effect.gen(function* () {
        yield* embedded(corpus, "other")
        assert.deepStrictEqual(yield* vectorsOf(corpus), [{ model: "other", chunks: 1 }])
        assert.deepStrictEqual(namesOf(yield* search(corpus, "vehicle")), ["garage.md"])
      }).pipe(withProcess(server, [], "other"))
      assert.sameMembers([...new Set(server.asked.map(({ model }) => model))], ["hashes", "other"])
    }).pipe(Effect.scoped)
  )

  it.effect("embeddings of files that are gone or were indexed again are deleted", () =>
    Effect.gen(function* () {
      const server = yield* makeEmbeddingServer
      yield* Effect.gen(function* () {
        const retrieval = yield* Retrieval
        const corpus = yield* someProject
        const file = yield* addFile(corpus, sections(20), "manual.md")
        yield* embedded(corpus)
        yield* indexFile(corpus, { ...file, text: "The automobile was repaired." })
        yield* embedded(corpus)
        assert.deepStrictEqual(yield* vectorsOf(corpus), [{ model: "hashes", chunks: 1 }])
        yield* retrieval.remove(corpus.projectId, file.fileId)
        assert.deepStrictEqual(yield* vectorsOf(corpus), [])
        assert.strictEqual((yield* search(corpus, "vehicle")).hits.length, 0)
      }).pipe(withProcess(server))
    }).pipe(Effect.scoped)
  )
})
