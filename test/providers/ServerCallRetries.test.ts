import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type ProtocolName, protocolNames } from "../../src/providers/ModelServer.ts"
import { failuresMax, openSecondsMin } from "../../src/providers/ProviderCircuit.ts"
import type { ProviderGate } from "../../src/providers/ProviderGate.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer, type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import { gate, model, timeouts, request, serverAt, textOf, untilFailure } from "./ServerSetup.ts"

const setUp = (protocol: ProtocolName, retrySeconds: number, given: ProviderGate | null = null) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const through = given ?? (yield* gate())
    const options = { gate: through, retrySeconds }
    const call = makeServerCall(upstream, serverAt(server.url, protocol), options)(model)
    return { server, call, through }
  })

describe.each(protocolNames)("%s, retries", (protocol) => {
  it.live.each<MockBehaviour>([
    { status: 503 },
    { status: 429 },
    { cutAt: "headers" },
    { cutAt: 0 },
    { errorAt: 0 }
  ])("a call is repeated after %j", (behaviour) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 10)
      yield* server.script(behaviour)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      assert.strictEqual(server.requests.length, 2)
    })
  )

  it.effect.each<readonly [MockBehaviour, string]>([
    [{ status: 400 }, ""],
    [{ status: 401 }, ""],
    [{ status: 429, headers: { "retry-after": "30" } }, ""],
    [{ errorAt: 1 }, "Hello"],
    [{ cutAt: 1 }, "Hello"]
  ])("a call isn't repeated after %j", ([behaviour, before]) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 10)
      const { parts } = yield* untilFailure(call(request(mockDirective(behaviour))))
      assert.strictEqual(textOf(parts), before)
      assert.strictEqual(server.requests.length, 1)
    })
  )

  it.live("a retry waits as long as the server asks", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 10)
      yield* server.script({ status: 429, headers: { "retry-after-ms": "600" } })
      const before = yield* Clock.currentTimeMillis
      yield* Stream.runDrain(call(request("hi")))
      assert.isAtLeast((yield* Clock.currentTimeMillis) - before, 600)
    })
  )

  it.live("a retry ends with the budget, and the failure has the reason", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 0.8)
      const failure = yield* Effect.flip(Stream.runDrain(call(request(mockDirective({ status: 503 })))))
      assert.strictEqual(failure.status, 503)
      assert.isAtLeast(server.requests.length, 2)
      assert.isAtMost(server.requests.length, 5)
    })
  )
})

describe("the gate of a provider", () => {
  it.effect("the gate keeps calls with a fallback away from a failing server", () =>
    Effect.gen(function* () {
      const { call, server, through } = yield* setUp("openai-chat", 0)
      const failing = call(request(mockDirective({ status: 500 })))
      for (let round = 0; round < failuresMax; round++) yield* Effect.flip(Stream.runDrain(failing))
      const withFallback = { hasFallback: () => true }
      const refused = yield* Effect.flip(Stream.runDrain(call(request("hi"), withFallback)))
      assert.strictEqual(refused.reason, "refused")
      assert.strictEqual(refused.retryAfterSeconds, openSecondsMin)
      assert.include(refused.detail, "server_error (HTTP 500)")
      assert.strictEqual(server.requests.length, failuresMax)
      // Without one, the server is asked all the same.
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      yield* TestClock.adjust(`${openSecondsMin} seconds`)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi"), withFallback))), "Hello, world.")
      assert.strictEqual((yield* through.health).state, "ok")
    })
  )

  it.live("the gate counts a request once, however often it was sent", () =>
    Effect.gen(function* () {
      const { call, server, through } = yield* setUp("openai-chat", 3)
      const failing = call(request(mockDirective({ status: 500 })))
      yield* Effect.flip(Stream.runDrain(failing))
      assert.isAtLeast(server.requests.length, 4)
      assert.strictEqual((yield* through.health).state, "failing")
      const healthOf = yield* through.modelHealth
      assert.closeTo(healthOf(model.id).failureShare, 1 / 2, 0.02)
    })
  )

  it.effect("the gate stays open to others when one user's streams are cut in the middle", () =>
    Effect.gen(function* () {
      const { call, through } = yield* setUp("openai-chat", 0)
      const cut = call(request(mockDirective({ cutAt: 2 })), { hasFallback: () => false, user: "alice" })
      for (let round = 0; round < failuresMax * 2; round++) yield* Effect.flip(Stream.runDrain(cut))
      assert.notStrictEqual((yield* through.health).state, "open")
    })
  )

  it.effect("the gate lets the next call in when one ends, however that ends", () =>
    Effect.gen(function* () {
      const through = yield* gate({ concurrentMax: 1 })
      const { call, server } = yield* setUp("anthropic", 0, through)
      const begun = yield* Deferred.make<void>()
      const endless = call(request(mockDirective({ endless: true, gapMillis: 5 }))).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined))
      )
      const first = yield* Effect.forkChild(Stream.runDrain(endless))
      yield* Deferred.await(begun)
      const gone = yield* Effect.forkChild(Stream.runDrain(call(request("nobody"))), {
        startImmediately: true
      })
      const second = yield* Effect.forkChild(Stream.runCollect(call(request("hi"))), {
        startImmediately: true
      })
      assert.strictEqual((yield* through.health).waiting, 2)
      yield* Fiber.interrupt(gone)
      yield* Fiber.interrupt(first)
      assert.strictEqual(textOf(yield* Fiber.join(second)), "Hello, world.")
      yield* Effect.flip(Stream.runDrain(call(request(mockDirective({ status: 400 })))))
      yield* Stream.runDrain(Stream.take(call(request("hi")), 1))
      assert.strictEqual((yield* through.health).running, 0)
      assert.strictEqual(server.requests.length, 4)
    })
  )
})
