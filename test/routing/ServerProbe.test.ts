import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { probeServer } from "../../src/routing/ServerProbe.ts"
import { callOnce, model, timeouts, secretKey, serverAt } from "../providers/ServerSetup.ts"
import { makeMockModelServer, type MockBehaviour, type MockModelList } from "../support/MockModelServer.ts"

const probe = (url: string, models = [model]) =>
  Effect.gen(function* () {
    const upstream = yield* makeUpstream(timeouts)
    const server = serverAt(url)
    return yield* probeServer(upstream, server, yield* callOnce(upstream, server), models)
  })

describe("a probed model server", () => {
  it.live.each<readonly [MockModelList, MockBehaviour, boolean, RegExp, number]>([
    [{ data: [{ id: "mock-model" }] }, {}, true, /its key and models are right/, 0],
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
    [{ raw: "<html>" }, { status: 503 }, false, /no answer of mock-model: HTTP 503/, 1]
  ])("is believed by what it answers: list %j, then %j", ([list, behaviour, isWell, detail, asked]) =>
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

  it.live("is not well where nothing answers at the address", () =>
    Effect.gen(function* () {
      const { detail, isWell } = yield* probe("http://127.0.0.1:9/v1")
      assert.isFalse(isWell)
      assert.match(detail, /127\.0\.0\.1:9.*ECONNREFUSED/)
    })
  )

  it.live("is not well without a list and without the name of a model", () =>
    Effect.gen(function* () {
      const server = yield* makeMockModelServer
      yield* server.listModels({ status: 404 })
      assert.isFalse((yield* probe(server.url, [])).isWell)
    })
  )
})
