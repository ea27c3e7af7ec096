import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, References } from "effect"
import { RoomsLayer, ServiceLayer } from "../../src/App.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { failuresMax } from "../../src/providers/ProviderCircuit.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import {
  makeMockModelServer,
  type MockBehaviour,
  mockDirective,
  type MockModelServer
} from "../support/MockModelServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { call, errorOf, responseOf } from "../support/Wire.ts"

class Provider extends Context.Service<Provider, MockModelServer>()("parley/test/Provider") {}

/** The service with a single provider, which does what the prompts say. */
const setUp = Effect.gen(function* () {
  const server = yield* makeMockModelServer
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-model-faults-"))),
    (directory) => Effect.sync(() => removeDirectory(directory))
  )
  const models = { openaiBaseUrl: server.url, openaiModel: ["mock-model"], retrySeconds: 0.8 }
  return Layer.mergeAll(
    Layer.succeed(Provider, server),
    Layer.succeed(AppConfig, testConfig({ dataDir, models }))
  )
})

const app = TestApp.layerNoDeps.pipe(
  Layer.provideMerge(ServiceLayer),
  Layer.provideMerge(FileStoreLayer),
  Layer.provideMerge(RoomsLayer),
  Layer.provideMerge(Router.layer),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provideMerge(NodeCrypto.layer),
  Layer.provideMerge(Layer.unwrap(setUp)),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None")),
  Layer.orDie
)

const post = Effect.fnUntraced(function* (user: TestUser, behaviour: MockBehaviour, stream = false) {
  const { url } = yield* TestApp
  const body = { input: `Say hello. ${mockDirective(behaviour)}`, stream }
  return yield* call(`${url}/v1/responses`, { key: user.key, body })
})

layer(app, { excludeTestServices: true })("A model server that fails", (it) => {
  it.effect.each<readonly [string, MockBehaviour, boolean]>([
    ["is refused with a 500", { status: 500 }, false],
    ["is cut in the middle", { cutAt: 2 }, true]
  ])("a server that fails on a user's prompts, each of which %s, answers other users", ([, fault, stream]) =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      responseOf(yield* post(bob, {}))
      for (let round = 0; round < 3; round++) {
        const replies = yield* Effect.all(
          [1, 2].map(() => post(alice, fault, stream)),
          { concurrency: 2 }
        )
        for (const reply of replies) {
          if (stream) assert.include(reply.text, "generation_failed")
          else assert.strictEqual(errorOf(reply, 500).code, "generation_failed")
        }
        responseOf(yield* post(bob, {}))
      }
    })
  )

  it.effect("a server that failed on every prompt of the only user is asked by the next user", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const failing = Array.from({ length: 2 * failuresMax }, () => post(alice, { cutAt: "headers" }))
      yield* Effect.all(failing, { concurrency: "unbounded" })
      responseOf(yield* post(bob, {}))
    })
  )

  it.effect.each<readonly [MockBehaviour, string, string]>([
    [{ status: 500 }, "generation_failed", "1"],
    [{ status: 503, headers: { "retry-after": "20" } }, "generation_failed", "20"],
    [{ cutAt: "headers" }, "generation_failed", "1"],
    [{ status: 429, headers: { "retry-after": "30" } }, "model_overloaded", "30"],
    [{ status: 429 }, "model_overloaded", "5"],
    [{ status: 529 }, "model_overloaded", "5"],
    [{ status: 529, headers: { "retry-after": "20" } }, "model_overloaded", "20"],
    [
      { status: 503, errorBody: JSON.stringify({ error: { message: "The model is overloaded." } }) },
      "model_overloaded",
      "5"
    ],
    [
      { status: 500, errorBody: JSON.stringify({ error: { message: "Can't read 'overloaded'." } }) },
      "generation_failed",
      "1"
    ]
  ])("a server that may answer later (%j) is a 500 with Retry-After", ([behaviour, code, seconds]) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const reply = yield* post(alice, behaviour)
      assert.strictEqual(errorOf(reply, 500).code, code)
      assert.strictEqual(reply.headers.get("retry-after"), seconds)
    })
  )

  it.effect.each<MockBehaviour>([
    { status: 401 },
    { status: 403 },
    { status: 404 },
    { status: 400, errorBody: JSON.stringify({ error: { code: "model_not_found", message: "no secret" } }) },
    { status: 429, errorBody: JSON.stringify({ error: { code: "insufficient_quota", message: "secret" } }) },
    {
      status: 400,
      errorBody: JSON.stringify({ error: { message: "Your credit balance is too low to read the secret." } })
    },
    { status: 400, errorBody: JSON.stringify([{ error: { message: "API key not valid, secret." } }]) },
    { status: 400, errorBody: JSON.stringify({ error: { message: "Unsupported parameter: 'secret'" } }) },
    { raw: [JSON.stringify({ detail: "Unauthorized" })] }
  ])("a server that refuses the operator's key or model (%j) is a 500 without a retry", (behaviour) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const reply = yield* post(alice, behaviour)
      const { code, message, type } = errorOf(reply, 500)
      assert.deepStrictEqual([type, code], ["server_error", "model_misconfigured"])
      assert.match(message, /Tell the operator/)
      assert.notMatch(reply.text, /Try again|secret|mock/i)
      assert.strictEqual(reply.headers.get("x-should-retry"), "false")
      assert.isNull(reply.headers.get("retry-after"))
    })
  )

  it.effect.each<readonly [MockBehaviour, RegExp]>([
    [{ status: 400 }, /doesn't accept this request/],
    [{ status: 422 }, /doesn't accept this request/],
    [{ status: 413 }, /too large/],
    [{ status: 400, errorBody: JSON.stringify({ error: { code: "content_filter" } }) }, /by its policy/],
    [
      { status: 400, errorBody: JSON.stringify({ error: { message: "Content Exists Risk" } }) },
      /by its policy/
    ]
  ])("a server that refuses what the request asks for (%j) is a 400", ([behaviour, expected]) =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const reply = yield* post(alice, behaviour)
      const { code, message, param } = errorOf(reply, 400)
      assert.deepStrictEqual([code, param], ["invalid_request", "input"])
      assert.match(message, expected)
      assert.notMatch(reply.text, /Try again|mock/i)
    })
  )
})
