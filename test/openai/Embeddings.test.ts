import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References, Schema } from "effect"
import { SqlClient } from "effect/sql"
import OpenAI from "openai"
import { EmbeddingList } from "../../src/api/openai/EmbeddingsApi.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { type EmbeddingServer, makeEmbeddingServer } from "../retrieval/vectors/EmbeddingServer.ts"
import { ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"

const post = Effect.fnUntraced(function* (body: unknown) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/embeddings`, { key: alice.key, body })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(EmbeddingList))

let server: EmbeddingServer

const written: Array<string> = []
const Log = Layer.merge(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Info")
)
/** The lines of the access log. */
const lines = (): ReadonlyArray<{ readonly annotations: Readonly<Record<string, unknown>> }> =>
  written.map((line) => JSON.parse(line)).filter(({ message }) => message === "request")

const withServer = Layer.unwrap(
  Effect.map(makeEmbeddingServer, (made) => {
    server = made
    const retrieval = { embeddingsUrl: made.url, embeddingsModel: "hashes", embeddingsSeconds: 2 }
    return TestApp.layerWith(TestDatabase.layer, FileStoreLayer, { retrieval }, ScriptedModel.layer, Log)
  })
)

layer(withServer, { excludeTestServices: true })("POST /openai/v1/embeddings", (it) => {
  it.effect("the endpoint for embeddings embeds a text and a list of texts, in their order", () =>
    Effect.gen(function* () {
      const one = yield* decode((yield* post({ input: "car", model: "hashes" })).text)
      assert.strictEqual(one.model, "hashes")
      assert.strictEqual(one.data[0]?.embedding.length, 512)
      assert.deepStrictEqual(one.usage, { prompt_tokens: 1, total_tokens: 1 })
      const texts = Array.from({ length: 130 }, (_, index) => `word${index}`)
      const many = yield* decode((yield* post({ input: ["car", ...texts], model: "auto", user: "u" })).text)
      assert.deepStrictEqual(
        many.data.map(({ index }) => index),
        [...texts.keys(), 130]
      )
      assert.deepStrictEqual(many.data[0]?.embedding, one.data[0]?.embedding)
      assert.strictEqual(server.asked.at(-1)?.input.length, 131 - 2 * 64)
    })
  )

  it.effect("the endpoint for embeddings writes numbers or base64, and passes the dimensions on", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const input = "car doctor"
      const asFloats = yield* Effect.promise(() =>
        openai.embeddings.create({ model: "hashes", input, dimensions: 16, encoding_format: "float" })
      )
      // Its default asks for base64.
      const asBase64 = yield* Effect.promise(() =>
        openai.embeddings.create({ model: "hashes", input, dimensions: 16 })
      )
      assert.strictEqual(asFloats.data[0]?.embedding.length, 16)
      assert.deepStrictEqual([...(asBase64.data[0]?.embedding ?? [])], asFloats.data[0]?.embedding)
      const { data } = yield* decode((yield* post({ input, encoding_format: "base64" })).text)
      assert.isString(data[0]?.embedding)
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["input", { input: [1, 2, 3] }],
    ["input", { input: [[1, 2], [3]] }],
    ["input", { input: "" }],
    ["input", { input: [] }],
    ["input", {}],
    ["model", { input: "car", model: "text-embedding-3-small" }],
    ["encoding_format", { input: "car", encoding_format: "int8" }],
    ["dimensions", { input: "car", dimensions: 0 }]
  ]
  for (const [field, body] of refused) {
    it.effect(`the endpoint for embeddings refuses ${JSON.stringify(body)} and names ${field}`, () =>
      Effect.gen(function* () {
        const { message, param } = errorOf(yield* post(body), 400)
        assert.isTrue(param?.startsWith(field), `${param}: ${message}`)
      })
    )
  }

  it.effect("the endpoint for embeddings answers a list of tokens with how to send texts", () =>
    Effect.gen(function* () {
      assert.include(errorOf(yield* post({ input: [1, 2] }), 400).message, "lists of tokens are not taken")
    })
  )

  it.effect("the endpoint for embeddings separates a refusal of the server from a failure", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      server.behave(() => ({ status: 400 }))
      assert.strictEqual(errorOf(yield* post({ input: "car" }), 400).param, "input")
      server.behave(() => ({ status: 500 }))
      assert.strictEqual(errorOf(yield* post({ input: "car" }), 500).code, "embeddings_failed")
      server.behave(() => null)
      errorOf(yield* call(`${url}/openai/v1/embeddings`, { body: { input: "car" } }), 401)
    })
  )

  const ways: ReadonlyArray<readonly [name: string, headers: Record<string, string>]> = [
    ["without a key", {}],
    ["with a key", { "idempotency-key": "large" }]
  ]
  for (const [name, headers] of ways) {
    it.effect(`the endpoint for embeddings fails for a number beyond four bytes, ${name}`, () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const data = [{ index: 0, embedding: [1, 1e300] }]
        server.behave(() => ({ raw: JSON.stringify({ data }) }))
        const failed = yield* call(`${url}/openai/v1/embeddings`, {
          key: alice.key,
          headers,
          body: { input: "car" }
        })
        assert.strictEqual(errorOf(failed, 500).code, "embeddings_failed")
        server.behave(() => null)
      })
    )
  }

  it.effect("the endpoint for embeddings counts tokens to the user's allowance, and refuses beyond it", () =>
    Effect.gen(function* () {
      const { bob, url } = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      const usage = yield* Usage
      const post = (input: string) => call(`${url}/openai/v1/embeddings`, { key: bob.key, body: { input } })
      yield* usage.setLimits(bob.id, { daily: 3 })
      assert.strictEqual((yield* post("one two three")).status, 200)
      const recorded = sql<{ input: number; output: number; model: string }>`
        SELECT input_tokens AS input, output_tokens AS output, model FROM usage_records
        WHERE user_id = ${bob.id}::uuid`
      yield* until(Effect.map(recorded, ({ length }) => length === 1))
      assert.deepStrictEqual(yield* recorded, [{ input: 3, output: 0, model: "hashes" }])
      const line = () => lines().find(({ annotations }) => annotations["user"] === bob.id)
      yield* until(Effect.sync(() => line() !== undefined))
      assert.deepInclude(line()!.annotations, {
        route: "/openai/v1/embeddings",
        model: "hashes",
        provider: "embeddings",
        inputTokens: 3
      })
      assert.strictEqual(errorOf(yield* post("four"), 429).code, "daily_token_limit_exceeded")
    })
  )
})

/** One text more than may be kept with vectors of this many numbers. */
const tooManyTexts = (dimensions: number) => Array.from({ length: 1024 ** 2 / dimensions + 1 }, () => "car")

layer(withServer, { excludeTestServices: true })("an Idempotency-Key of embeddings", (it) => {
  const keyed = Effect.fnUntraced(function* (key: string, body: object, path = "embeddings") {
    const { alice, url } = yield* TestApp
    const headers = { "idempotency-key": key }
    return yield* call(`${url}/openai/v1/${path}`, { key: alice.key, headers, body })
  })
  const recorded = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { alice } = yield* TestApp
    return (yield* sql`SELECT 1 FROM usage_records WHERE user_id = ${alice.id}::uuid`).length
  })

  it.effect("a repeated idempotency key gives the same answer, and its texts are counted once", () =>
    Effect.gen(function* () {
      for (const body of [{ input: ["car", "doctor"] }, { input: "car", encoding_format: "base64" }]) {
        const key = JSON.stringify(body)
        const [asked, spent] = [server.asked.length, yield* recorded]
        const first = yield* keyed(key, { ...body, foo: 1 })
        assert.strictEqual(first.status, 200, first.text)
        assert.strictEqual(first.text, (yield* post({ ...body })).text)
        const again = yield* keyed(key, { ...body, foo: 1 })
        assert.strictEqual(again.text, first.text)
        assert.strictEqual(again.headers.get("x-ignored-fields"), "foo")
        assert.strictEqual(server.asked.length, asked + 2)
        yield* until(Effect.map(recorded, (count) => count >= spent + 2))
        assert.strictEqual(yield* recorded, spent + 2)
      }
      const jobs = () => written.map((line) => JSON.parse(line)).filter(({ message }) => message === "job")
      const job = () => jobs().find(({ annotations }) => annotations.outcome === "completed")
      yield* until(Effect.sync(() => job() !== undefined))
      assert.deepInclude(job().annotations, { model: "hashes", inputTokens: 2 })
    })
  )

  it.effect("a second request with the same key waits for the first, also if the first client left", () =>
    Effect.gen(function* () {
      const asked = server.asked.length
      const one = Promise.withResolvers<void>()
      server.behave(() => ({ after: one.promise }))
      const both = yield* Effect.all([keyed("both", { input: "car" }), keyed("both", { input: "car" })], {
        concurrency: "unbounded"
      }).pipe(
        Effect.race(
          Effect.andThen(
            until(Effect.sync(() => server.asked.length > asked)),
            Effect.andThen(Effect.sync(one.resolve), Effect.never)
          )
        )
      )
      assert.deepStrictEqual([both[0].status, both[1].text], [200, both[0].text])
      assert.strictEqual(server.asked.length, asked + 1)

      const other = Promise.withResolvers<void>()
      server.behave(() => ({ after: other.promise }))
      const { alice, url } = yield* TestApp
      const leaving = new AbortController()
      const left = fetch(`${url}/openai/v1/embeddings`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${alice.key}`,
          "content-type": "application/json",
          "idempotency-key": "left"
        },
        body: JSON.stringify({ input: "car" }),
        signal: leaving.signal
      }).catch(() => null)
      yield* until(Effect.sync(() => server.asked.length === asked + 2))
      leaving.abort()
      yield* Effect.promise(() => left)
      other.resolve()
      server.behave(() => null)
      assert.strictEqual((yield* keyed("left", { input: "car" })).text, both[0].text)
      assert.strictEqual(server.asked.length, asked + 2)
    })
  )

  it.effect("an idempotency key is refused for another body, and for a response after embeddings", () =>
    Effect.gen(function* () {
      yield* keyed("taken", { input: "car" })
      const others = [
        yield* keyed("taken", { input: "doctor" }),
        yield* keyed("taken", { input: "car", encoding_format: "base64" }),
        yield* keyed("taken", { input: "car" }, "responses")
      ]
      for (const reply of others) assert.strictEqual(errorOf(reply, 422).code, "idempotency_key_reused")
      assert.strictEqual(
        errorOf(yield* keyed("a".repeat(256), { input: "car" }), 400).param,
        "Idempotency-Key"
      )
    })
  )

  it.effect("an idempotency key is free again after a failure", () =>
    Effect.gen(function* () {
      server.behave(() => ({ status: 400 }))
      assert.strictEqual(errorOf(yield* keyed("free", { input: "car" }), 400).param, "input")
      server.behave(() => null)
      assert.strictEqual((yield* keyed("free", { input: "car" })).status, 200)
      assert.strictEqual(errorOf(yield* keyed("model", { input: "car", model: "other" }), 400).param, "model")
    })
  )

  it.effect("an idempotency key is refused if the answer would be too long to be stored", () =>
    Effect.gen(function* () {
      const refuse = Effect.fnUntraced(function* (body: object, calls: number) {
        const asked = server.asked.length
        const { message, param } = errorOf(yield* keyed("long", body), 400)
        assert.strictEqual(param, "input")
        assert.include(message, "Send fewer texts in each request, or leave the key out")
        assert.strictEqual(server.asked.length, asked + calls)
      })
      const input = tooManyTexts(16_384)
      yield* refuse({ input, dimensions: 16_384 }, 0)
      // A server that doesn't heed the dimensions is found out by its first vectors.
      server.behave(() => ({ dimension: 16_384 }))
      yield* refuse({ input, dimensions: 16 }, 1)
      // The model's own dimensions are known from the answer before.
      server.behave(() => ({ dimension: 1024 }))
      yield* post({ input: "car" })
      yield* refuse({ input: tooManyTexts(1024) }, 0)
      server.behave(() => null)
      const { data } = yield* decode(
        (yield* keyed("long", { input: input.slice(1), dimensions: 16_384 })).text
      )
      assert.strictEqual(data.length, 64)
    })
  )

  it.effect(
    "an Idempotency-Key of embeddings gives the same answer to several requests that come at once",
    () =>
      Effect.gen(function* () {
        const first = yield* keyed("replayed", { input: "car" })
        const again = yield* Effect.all(
          Array.from({ length: 4 }, () => keyed("replayed", { input: "car" })),
          { concurrency: "unbounded" }
        )
        for (const { text } of again) assert.strictEqual(text, first.text)
      })
  )

  it.effect("an idempotency key of embeddings creates no response that can be shown or cancelled", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      yield* keyed("hidden", { input: "car" })
      const [job] = yield* sql<{ id: string }>`SELECT response_id AS id FROM response_jobs
        WHERE kind = 'embeddings' AND user_id = ${alice.id}::uuid ORDER BY response_id DESC LIMIT 1`
      const address = `${url}/openai/v1/responses/resp_${job?.id}`
      errorOf(yield* call(address, { key: alice.key }), 404)
      errorOf(yield* call(`${address}?stream=true`, { key: alice.key }), 404)
      errorOf(yield* call(`${address}/cancel`, { key: alice.key, method: "POST" }), 404)
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("Embeddings without a server", (it) => {
  it.effect("embeddings without a server are refused with the setting that is missing", () =>
    Effect.gen(function* () {
      const { code, message } = errorOf(yield* post({ input: "car", model: "auto" }), 404)
      assert.strictEqual(code, "embeddings_not_set")
      assert.include(message, "PARLEY_EMBEDDINGS_URL")
    })
  )
})
