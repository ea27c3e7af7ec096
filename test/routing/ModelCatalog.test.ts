import { mkdtemp, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { describe as describeFailure } from "../../src/api/Failure.ts"
import { protocolNames } from "../../src/providers/ModelServer.ts"
import { ModelCatalog, openAiServer, unusedModelSettings } from "../../src/routing/ModelCatalog.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import {
  makeMockModelServer,
  type MockBehaviour,
  mockDirective,
  type MockModelList
} from "../support/MockModelServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { until, untilValue } from "../support/until.ts"

type ModelSettings = Partial<Settings["models"]>

const configured = (models: ModelSettings) => Layer.succeed(AppConfig, testConfig({ models }))

/** A catalog that was begun with these settings; it ends with the test. */
const begin = (models: ModelSettings) =>
  Effect.map(Layer.build(Layer.provide(ModelCatalog.layer, configured(models))), (context) =>
    Context.get(context, ModelCatalog)
  )

const idsOf = (entries: Effect.Success<ModelCatalog["Service"]["entries"]>) =>
  entries.map((entry) => entry.model.id)

const need = { promptTokens: 10, tools: false, maxOutputTokens: null, difficulty: 0.5 }

describe("ModelCatalog", () => {
  it.effect("ModelCatalog has the offline model alone where nothing is configured", () =>
    Effect.gen(function* () {
      const catalog = yield* begin({})
      assert.deepStrictEqual(idsOf(yield* catalog.entries), ["parley-offline"])
      const sentence = yield* catalog.describe
      assert.include(sentence, "parley-offline")
      assert.include(sentence, "no language model")
    })
  )

  it.effect("ModelCatalog has the models that a server lists, and not the offline one", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({
        data: [{ id: "one", max_model_len: 4096 }, { id: "whisper-1" }, { id: "two" }]
      })
      const catalog = yield* begin({ openaiBaseUrl: server.url })
      const entries = yield* catalog.entries
      assert.deepStrictEqual(idsOf(entries).toSorted(), ["one", "two"])
      assert.strictEqual(entries.find((entry) => entry.model.id === "one")?.model.contextWindow, 4096)
      assert.strictEqual(yield* catalog.describe, `${server.url} has 2 models: one, two.`)
    })
  )

  it.effect("ModelCatalog answers through the model that the router chose, with the key", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      const settings = {
        openaiBaseUrl: `${server.url}/`,
        openaiApiKey: Redacted.make("sk-1"),
        openaiModel: ["a", "b"]
      }
      const parts = yield* Effect.gen(function* () {
        const [first] = yield* (yield* Router).route(need)
        assert.strictEqual(first.model.id, "a")
        return yield* Stream.runCollect(
          first.stream({ messages: [{ role: "user", text: "hi" }], maxOutputTokens: 5, tools: [] })
        )
      }).pipe(Effect.provide(Layer.provide(Router.layer, configured(settings))))
      assert.strictEqual(parts.at(-1)?.type, "finish")
      const { body, headers } = yield* server.request(0)
      assert.strictEqual(body["model"], "a")
      assert.strictEqual(headers.authorization, "Bearer sk-1")
    })
  )

  it.each([
    [null, "openai-responses"],
    ["https://api.openai.com/v1", "openai-responses"],
    ["https://eu.api.openai.com/v1", "openai-responses"],
    ["https://api.openai.com.example/v1", "openai-chat"],
    ["https://example.openai.azure.com/openai/v1", "openai-chat"],
    ["http://127.0.0.1:8000/v1", "openai-chat"]
  ] as const)("openAiServer asks the server at %s by %s", (openaiBaseUrl, protocol) => {
    const server = openAiServer({ openaiApiKey: Redacted.make("sk-1"), openaiBaseUrl })
    assert.strictEqual(server?.protocol.name, protocol)
    assert.strictEqual(server?.baseUrl.href, openaiBaseUrl ?? "https://api.openai.com/v1")
    assert.isNull(openAiServer({ openaiApiKey: null, openaiBaseUrl: null }))
  })

  it.effect("ModelCatalog knows named models from the start while the server is unavailable", () =>
    Effect.gen(function* () {
      const catalog = yield* begin({ openaiBaseUrl: "http://127.0.0.1:9/v1", openaiModel: ["a", "b"] })
      assert.deepStrictEqual(idsOf(yield* catalog.known), ["a", "b"])
      assert.deepStrictEqual(idsOf(yield* catalog.entries), ["a", "b"])
    })
  )

  it.effect("ModelCatalog learns the limits of named models from the list", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ data: [{ id: "a", max_model_len: 2048 }] })
      const catalog = yield* begin({ openaiBaseUrl: server.url, openaiModel: ["a"] })
      yield* catalog.describe
      assert.strictEqual((yield* catalog.entries)[0]?.model.contextWindow, 2048)
    })
  )

  it.effect.each([
    [401, "model_misconfigured"],
    [403, "model_misconfigured"],
    [404, "model_misconfigured"],
    [503, "model_unavailable"]
  ] as const)("ModelCatalog blames the settings where the list of models is refused (%j)", ([status, code]) =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status })
      const settings = { openaiBaseUrl: server.url, openaiApiKey: Redacted.make("sk-1") }
      const error = yield* Effect.gen(function* () {
        return yield* Effect.flip((yield* Router).route(need))
      }).pipe(Effect.provide(Layer.provide(Router.layer, configured(settings))))
      if (error._tag !== "NoModelAvailable") return assert.fail(error._tag)
      assert.include(JSON.stringify(describeFailure(error).body), `"${code}"`)
    })
  )

  it.effect("ModelCatalog starts while the server is unavailable, retries for a request, and recovers", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status: 503 })
      const catalog = yield* begin({ openaiBaseUrl: server.url })
      assert.deepStrictEqual(yield* catalog.known, [])
      const sentence = yield* catalog.describe
      assert.include(sentence, "No model answers yet")
      assert.include(sentence, "HTTP 503")
      // No time passes: each request makes the list be read once more.
      assert.deepStrictEqual(yield* catalog.entries, [])
      const asked = server.listings()
      assert.isAtLeast(asked, 2)
      yield* server.listModels({ data: [{ id: "late" }] })
      assert.deepStrictEqual(idsOf(yield* catalog.entries), ["late"])
      assert.include(yield* catalog.describe, "late")
    })
  )

  it.effect("ModelCatalog retries by itself, less and less often", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status: 500 })
      const catalog = yield* begin({ openaiBaseUrl: server.url })
      yield* catalog.describe
      for (let seconds = 0; server.listings() < 5; seconds += 0.5) {
        // Waits of 1, 2, 4 and 8 seconds: the n-th try can't come before 2^(n-1) - 1 seconds have passed.
        assert.isAtMost(2 ** (server.listings() - 1) - 1, seconds)
        yield* TestClock.adjust("500 millis")
        yield* Effect.yieldNow
      }
    })
  )

  it.effect("ModelCatalog refreshes the list, and keeps the old one where that fails", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ data: [{ id: "old" }] })
      const catalog = yield* begin({ openaiBaseUrl: server.url })
      assert.deepStrictEqual(idsOf(yield* catalog.entries), ["old"])
      yield* server.listModels({ raw: "broken" })
      yield* TestClock.adjust("10 minutes")
      yield* until(Effect.sync(() => server.listings() >= 2))
      assert.deepStrictEqual(idsOf(yield* catalog.known), ["old"])
      yield* server.listModels({ data: [{ id: "new" }] })
      const ids = Effect.andThen(TestClock.adjust("1 second"), Effect.map(catalog.known, idsOf))
      yield* untilValue(ids, (now) => {
        assert.strictEqual(now.length, 1)
        return now[0] === "new"
      })
    })
  )

  it.effect("ModelCatalog bounds how long a request waits for the list", () =>
    Effect.gen(function* () {
      const catalog = yield* begin({ openaiBaseUrl: yield* silentServer })
      const fiber = yield* Effect.forkChild(catalog.entries)
      yield* Effect.yieldNow
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), [])
    })
  )

  it.effect.each<readonly [MockModelList | null, string, RegExp]>([
    [{ data: [{ id: "a" }] }, "ok", /has the model a\./],
    [{ data: [{ id: "b" }] }, "ok", /answers, but doesn't list a\./],
    [{ status: 401 }, "failing", /should have the model a, but its list of models can't be read: HTTP 401/],
    [null, "failing", /should have the model a, but .*ECONNREFUSED/]
  ])("ModelCatalog says of named models only what their server has reported: %j", ([list, state, sentence]) =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      if (list !== null) yield* server.listModels(list)
      const openaiBaseUrl = list === null ? "http://127.0.0.1:9/v1" : server.url
      const catalog = yield* begin({ openaiBaseUrl, openaiModel: ["a"] })
      assert.match(yield* catalog.describe, sentence)
      assert.deepStrictEqual(
        (yield* catalog.health).map((health) => health.state),
        [state]
      )
      assert.strictEqual(server.requests.length, 0)
    })
  )

  it.effect("hints at the version that is missing in the address", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status: 404 })
      const address = server.url.replace("/v1", "")
      const catalog = yield* begin({ openaiBaseUrl: address })
      assert.include(yield* catalog.describe, `${address}/v1`)
    })
  )

  it.effect("ModelCatalog prefers the file where both are given", () =>
    Effect.gen(function* () {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "parley-catalog-"))),
        (path) => Effect.sync(() => removeDirectory(path))
      )
      const file = join(directory, "models.json")
      const provider = { id: "p", protocol: "openai-chat", baseUrl: "http://127.0.0.1:9/v1" }
      const limits = { contextWindow: 100, maxOutputTokens: 10, tools: false, quality: 0.1, cost: 0.1 }
      const models = [{ id: "from-file", provider: "p", ...limits }]
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ providers: [provider], models })))
      const catalog = yield* begin({ file, openaiBaseUrl: "http://127.0.0.1:9/v1" })
      assert.deepStrictEqual(idsOf(yield* catalog.entries), ["from-file"])
      assert.strictEqual(
        yield* catalog.describe,
        `${file} names the model from-file. \`parley doctor\` asks whether they answer.`
      )
    })
  )

  it.effect(
    "ModelCatalog has the models of every protocol, and knows the health of their servers without asking one",
    () =>
      Effect.gen(function* () {
        const server = yield* makeMockModelServer
        const directory = yield* Effect.acquireRelease(
          Effect.promise(() => mkdtemp(join(tmpdir(), "parley-catalog-"))),
          (path) => Effect.sync(() => removeDirectory(path))
        )
        const file = join(directory, "models.json")
        const limits = { contextWindow: 100, maxOutputTokens: 10, tools: false, quality: 0.1, cost: 0.1 }
        const content = {
          providers: protocolNames.map((protocol) => ({ id: protocol, protocol, baseUrl: server.url })),
          models: protocolNames.map((protocol) => ({ id: `by-${protocol}`, provider: protocol, ...limits }))
        }
        yield* Effect.promise(() => writeFile(file, JSON.stringify(content)))
        const catalog = yield* begin({ file, retrySeconds: 0 })
        const states = Effect.map(catalog.health, (health) =>
          health.map(({ provider, state }) => [provider, state])
        )
        assert.deepStrictEqual(
          yield* states,
          protocolNames.map((name) => [name, "unknown"])
        )
        assert.strictEqual(server.requests.length, 0)
        const entries = yield* catalog.entries
        const ask = (behaviour: MockBehaviour) =>
          Effect.forEach(entries, ({ stream: call }) =>
            Effect.exit(
              Stream.runDrain(
                call({
                  messages: [{ role: "user", text: mockDirective(behaviour) }],
                  maxOutputTokens: 5,
                  tools: []
                })
              )
            )
          )
        const answers = yield* ask({})
        assert.isTrue(answers.every(Exit.isSuccess))
        assert.isTrue((yield* states).every(([, state]) => state === "ok"))
        assert.deepStrictEqual(
          server.requests.map(({ path }) => path),
          ["/v1/chat/completions", "/v1/responses", "/v1/messages"]
        )
        yield* ask({ status: 500 })
        assert.deepStrictEqual(
          yield* states,
          protocolNames.map((name) => [name, "failing"])
        )
      })
  )

  it("unusedModelSettings names the settings that have no effect beside the others", () => {
    const unused = (models: NonNullable<SettingsOverrides["models"]>) =>
      unusedModelSettings(testConfig({ models }).models)
    const [openaiModel, openaiBaseUrl] = [["m"], "http://127.0.0.1:9/v1"]
    assert.match(unused({ openaiModel }) ?? "", /^OPENAI_MODEL is set, but neither/)
    assert.match(unused({ file: "/x", openaiModel }) ?? "", /^PARLEY_MODELS_FILE is set, so/)
    assert.match(unused({ file: "/x", openaiBaseUrl }) ?? "", /^PARLEY_MODELS_FILE is set, so/)
    for (const models of [{}, { openaiBaseUrl }, { openaiBaseUrl, openaiModel }, { file: "/x" }])
      assert.isNull(unused(models))
  })

  it.effect("ModelCatalog fails at the start where the file can't be used", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(begin({ file: "/nowhere/models.json" }))
      assert.strictEqual(failure._tag, "CatalogInvalid")
    })
  )
})

/** Takes connections, and says nothing on them. */
const silentServer = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer(() => undefined)
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
).pipe(
  Effect.map((server) => {
    const address = server.address()
    return `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}/v1`
  })
)
