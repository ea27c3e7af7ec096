import { assert, describe, it } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { probeServer } from "../../src/routing/ServerProbe.ts"
import { packageServer } from "../providers/SdkSetup.ts"
import { callOnce, model, timeouts, secretKey, serverAt } from "../providers/ServerSetup.ts"
import { makeMockModelServer, type MockBehaviour, type MockModelList } from "../support/MockModelServer.ts"

const probe = (url: string, models = [model], key: Redacted.Redacted | null = serverAt(url).key) =>
  Effect.gen(function* () {
    const upstream = yield* makeUpstream(timeouts)
    const server = { ...serverAt(url), key }
    return yield* probeServer(upstream, server, yield* callOnce(upstream, server), models)
  })

describe("a probed model server", () => {
  it.live.each<readonly [MockModelList, MockBehaviour, boolean, RegExp, number]>([
    [{ data: [{ id: "mock-model" }] }, {}, true, /its key and models are right/, 1],
    [
      { data: [{ id: "mock-model" }] },
      { status: 401 },
      false,
      /no answer of mock-model: HTTP 401.*OPENAI_API_KEY/,
      1
    ],
    [{ data: [{ id: "other" }] }, {}, true, /its key and models are right/, 1],
    [
      { data: [{ id: "other" }] },
      { status: 404 },
      false,
      /no answer of mock-model: HTTP 404.*OPENAI_MODEL/,
      1
    ],
    [{ status: 401 }, {}, false, /HTTP 401.*OPENAI_API_KEY/, 0],
    [{ status: 404 }, {}, true, /answers: mock-model was asked/, 1],
    [{ status: 404 }, { status: 401 }, false, /no answer of mock-model: HTTP 401.*OPENAI_API_KEY/, 1],
    [{ raw: "<html>" }, { status: 503 }, false, /no answer of mock-model: HTTP 503/, 1],
    [
      { data: [{ id: "other" }] },
      { status: 403, errorBody: JSON.stringify({ error: { message: `No access with ${secretKey}.` } }) },
      false,
      /HTTP 403, which says: No access with \[redacted\]\. Check the provider's key/,
      1
    ]
  ])("ServerProbe judges a server by its answers: %j, then %j", ([list, behaviour, isWell, detail, asked]) =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels(list)
      yield* server.usually(() => behaviour)
      const told = yield* probe(server.url)
      assert.match(told.detail, detail)
      assert.notInclude(told.detail, secretKey)
      assert.strictEqual(told.isWell, isWell)
      assert.strictEqual(server.requests.length, asked)
    })
  )

  it.live("ServerProbe asks a package of the AI SDK for an answer, and for no list", () =>
    Effect.gen(function* () {
      const mock = yield* makeMockModelServer
      const upstream = yield* makeUpstream(timeouts)
      const server = yield* packageServer({ package: "@ai-sdk/anthropic" }, mock.url)
      const probing = probeServer(upstream, server, yield* callOnce(upstream, server), [model])
      const place = `@ai-sdk/anthropic at ${mock.url}`
      assert.deepInclude(yield* probing, { isWell: true, detail: `${place} answers: mock-model was asked.` })
      yield* mock.usually(() => ({ status: 401 }))
      const told = yield* probing
      assert.isFalse(told.isWell)
      assert.match(told.detail, /has no answer of mock-model: HTTP 401.*keyVariable/)
      assert.deepStrictEqual([mock.requests.length, mock.listings()], [2, 0])
      const { detail } = yield* probeServer(upstream, server, yield* callOnce(upstream, server), [])
      assert.match(detail, /name its models in the catalog/)
    })
  )

  it.live("ServerProbe without a key doesn't ask a server to load a model that it lists", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ data: [{ id: "mock-model" }] })
      const { detail, isWell } = yield* probe(server.url, [model], null)
      assert.isTrue(isWell)
      assert.match(detail, /lists its models\.$/)
      assert.lengthOf(server.requests, 0)
    })
  )

  it.live("ServerProbe with a key and no named model asks for no answer, and says so", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ data: [{ id: "mock-model" }] })
      const { detail, isWell } = yield* probe(server.url, [])
      assert.isTrue(isWell)
      assert.match(detail, /OPENAI_MODEL/)
      assert.lengthOf(server.requests, 0)
    })
  )

  it.live("ServerProbe fails where nothing answers at the address", () =>
    Effect.gen(function* () {
      const { detail, isWell } = yield* probe("http://127.0.0.1:9/v1")
      assert.isFalse(isWell)
      assert.match(detail, /: connect ECONNREFUSED 127\.0\.0\.1:9\. Start it, or correct its address/)
    })
  )

  it.live("ServerProbe fails without a list and without the name of a model", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status: 404 })
      assert.isFalse((yield* probe(server.url, [])).isWell)
    })
  )
})
