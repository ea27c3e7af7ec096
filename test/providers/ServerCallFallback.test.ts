import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { unknownHealth } from "../../src/domain/Model.ts"
import { type ProtocolName, protocolNames } from "../../src/providers/ModelServer.ts"
import { failuresMax } from "../../src/providers/ProviderCircuit.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { monotonicSeconds } from "../../src/runtime/Monotonic.ts"
import { makeMockModelServer, type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import { gate, model, timeouts, request, serverAt, textOf } from "./ServerSetup.ts"

const setUp = (protocol: ProtocolName, retrySeconds = 10) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const through = yield* gate()
    const call = makeServerCall(upstream, serverAt(server.url, protocol), { gate: through, retrySeconds })(
      model
    )
    const health = Effect.map(through.modelHealth, (healthOf) => healthOf(model.id))
    return { server, call, through, health }
  })

const withFallback = { hasFallback: () => true }

describe.each(protocolNames)("%s, where another model can answer", (protocol) => {
  it.live("a call with a fallback is retried once, and soon", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 1)
      yield* server.script({ status: 503 })
      const parts = yield* Stream.runCollect(call(request("hi"), withFallback))
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.strictEqual(server.requests.length, 2)

      const broken = request(mockDirective({ status: 503 }))
      const failure = yield* Effect.flip(Stream.runDrain(call(broken, withFallback)))
      assert.strictEqual(failure.status, 503)
      assert.strictEqual(server.requests.length, 4)
      yield* Effect.flip(Stream.runDrain(call(broken)))
      assert.isAbove(server.requests.length, 6)
    })
  )

  it.effect("a call with a fallback doesn't wait as long as the server asks", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol)
      const busy = mockDirective({ status: 429, headers: { "retry-after": "1" } })
      const failure = yield* Effect.flip(Stream.runDrain(call(request(busy), withFallback)))
      assert.strictEqual(failure.retryAfterSeconds, 1)
      assert.strictEqual(server.requests.length, 1)
    })
  )

  it.effect("a call with a fallback is never retried where that is switched off", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol, 0)
      yield* Effect.flip(Stream.runDrain(call(request(mockDirective({ status: 503 })), withFallback)))
      assert.strictEqual(server.requests.length, 1)
    })
  )

  it.effect.each<MockBehaviour>([{ hangAt: "headers" }, { hangAt: 0 }])(
    "a call with a fallback has a shorter first-token timeout, which is a failure: %j",
    (behaviour) =>
      Effect.gen(function* () {
        const { call, health, server, through } = yield* setUp(protocol)
        const silent = request(mockDirective(behaviour))
        const patient = yield* Effect.forkChild(Effect.flip(Stream.runDrain(call(silent))))
        yield* server.request(0)
        const impatient = yield* Effect.forkChild(Effect.flip(Stream.runDrain(call(silent, withFallback))))
        const received = yield* server.request(1)
        yield* TestClock.adjust("2 seconds")
        assert.isUndefined(impatient.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        const failure = yield* Fiber.join(impatient)
        assert.strictEqual(failure.reason, "first_token_timeout")
        assert.include(failure.detail, "3 seconds")
        assert.strictEqual(yield* received.ended, "aborted")
        assert.strictEqual((yield* through.health).failure, "first_token_timeout")
        // It has faded a little since the clock reached the limit.
        assert.closeTo((yield* health).failureShare, 1 / 2, 0.02)
        assert.isUndefined(patient.pollUnsafe())
        yield* Fiber.interrupt(patient)
      })
  )

  it.effect("a model that was too slow gets more time in the next call", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol)
      const ask = Effect.forkChild(
        Effect.flip(Stream.runDrain(call(request(mockDirective({ hangAt: 0 })), withFallback)))
      )
      const first = yield* ask
      yield* server.request(0)
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(first)
      const second = yield* ask
      yield* server.request(1)
      yield* TestClock.adjust("8 seconds")
      assert.isUndefined(second.pollUnsafe())
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(second)).reason, "first_token_timeout")
    })
  )

  it.effect("a call gets the whole first-token timeout once no fallback is left", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(protocol)
      let isFixed = false
      const fiber = yield* Effect.forkChild(
        Effect.flip(
          Stream.runDrain(call(request(mockDirective({ hangAt: 0 })), { hasFallback: () => !isFixed }))
        )
      )
      yield* server.request(0)
      yield* TestClock.adjust("2 seconds")
      isFixed = true
      yield* TestClock.adjust("16 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "first_token_timeout")
    })
  )

  it.effect("a model cools down for as long as its server asked for", () =>
    Effect.gen(function* () {
      const { call, health } = yield* setUp(protocol, 0)
      const limited = (seconds: string) =>
        call(request(mockDirective({ status: 429, headers: { "retry-after": seconds } })), withFallback)
      yield* Effect.flip(Stream.runDrain(limited("20")))
      assert.isTrue((yield* health).coolingDown)
      yield* TestClock.adjust("19 seconds")
      assert.isTrue((yield* health).coolingDown)
      yield* TestClock.adjust("1 second")
      assert.isFalse((yield* health).coolingDown)
      yield* Effect.flip(Stream.runDrain(limited("86400")))
      yield* TestClock.adjust("1 minute")
      assert.isFalse((yield* health).coolingDown)
      yield* Stream.runDrain(call(request("hi"), withFallback))
    })
  )

  it.effect("a model gets one request at a time after failures, so that it delays no others", () =>
    Effect.gen(function* () {
      const { call, health, server } = yield* setUp(protocol, 0)
      const coolingDown = Effect.map(health, (seen) => seen.coolingDown)
      const ask = Effect.forkChild(
        Effect.exit(Stream.runDrain(call(request(mockDirective({ hangAt: 0 })), withFallback)))
      )
      const first = yield* ask
      yield* server.request(0)
      // All requests may wait for the server while nothing indicates a failure.
      assert.isFalse(yield* coolingDown)
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(first)
      assert.isFalse(yield* coolingDown)
      const trial = yield* ask
      yield* server.request(1)
      assert.isTrue(yield* coolingDown)
      yield* Fiber.interrupt(trial)
      assert.isFalse(yield* coolingDown)
    })
  )

  it.effect("a call with a fallback keeps the idle timeout between two pieces of output", () =>
    Effect.gen(function* () {
      const { call } = yield* setUp(protocol)
      const begun = yield* Deferred.make<void>()
      const stream = call(request(mockDirective({ hangAt: 2 })), withFallback).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined))
      )
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(stream)))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "idle_timeout")
    })
  )
})

describe.each(protocolNames)("%s, how a model fares", (protocol) => {
  it.effect("the health of a model is unknown until the first request, then shows outputs and failures", () =>
    Effect.gen(function* () {
      const { call, health, server } = yield* setUp(protocol, 0)
      assert.deepStrictEqual(yield* health, unknownHealth)
      yield* Stream.runDrain(call(request("hi")))
      assert.deepStrictEqual(yield* health, { ...unknownHealth, firstOutputSeconds: 0, requests: 1 })
      for (const behaviour of [{ status: 400 }, { status: 403 }, { status: 429 }]) {
        yield* Effect.flip(Stream.runDrain(call(request(mockDirective(behaviour)))))
      }
      assert.strictEqual((yield* health).failureShare, 0)
      yield* Effect.flip(Stream.runDrain(call(request(mockDirective({ status: 500 })))))
      assert.strictEqual((yield* health).failureShare, 1 / 3)
      yield* Effect.flip(Stream.runDrain(call(request(mockDirective({ cutAt: 1 })))))
      assert.strictEqual((yield* health).failureShare, 2 / 4)
      assert.strictEqual(server.requests.length, 6)
    })
  )

  it.effect("a model cools down while the circuit of its server is open", () =>
    Effect.gen(function* () {
      const { call, health } = yield* setUp(protocol, 0)
      const failing = call(request(mockDirective({ status: 500 })))
      for (let round = 0; round < failuresMax; round++) yield* Effect.flip(Stream.runDrain(failing))
      assert.isTrue((yield* health).coolingDown)
      // Whose turn it is to try the server again must be asked like any other.
      yield* TestClock.adjust("5 seconds")
      assert.isFalse((yield* health).coolingDown)
    })
  )

  it.live("the health of a model has the time until the first output", () =>
    Effect.gen(function* () {
      const { call, health } = yield* setUp(protocol)
      const slow = request(mockDirective({ deltas: ["a"], comments: true, gapMillis: 60 }))
      const before = yield* monotonicSeconds
      yield* Stream.runDrain(call(slow))
      const seconds = (yield* health).firstOutputSeconds ?? 0
      assert.isAbove(seconds, 0)
      assert.isAtMost(seconds, (yield* monotonicSeconds) - before)
    })
  )
})
