import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelRequest } from "../../src/domain/ModelCall.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer, type MockBehaviour } from "../support/MockModelServer.ts"
import { gate, model, request, serverAt, textOf, timeouts } from "./ServerSetup.ts"

const setUp = (retrySeconds = 0) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const limits = { gate: yield* gate(), retrySeconds }
    return { server, call: makeServerCall(upstream, serverAt(server.url), limits)(model) }
  })

const errorBody = (message: string, code: string | null = null) =>
  JSON.stringify({ error: { message, code } })

/** The failure of one call. */
const failureOf = (behaviour: MockBehaviour, prompt = "hi", more: Partial<ModelRequest> = {}) =>
  Effect.gen(function* () {
    const { call, server } = yield* setUp()
    yield* server.usually(() => behaviour)
    return yield* Effect.flip(Stream.runDrain(call(request(prompt, more))))
  })

const badCall: MockBehaviour = {
  status: 400,
  errorBody: errorBody("Failed to call a function.", "tool_use_failed")
}

describe("an error of a provider, for a call", () => {
  it.live.each<readonly [string, MockBehaviour]>([
    ["a bad call of the model", badCall],
    ["a bad call of the model in the stream", { raw: [`data: ${errorBody("No.", "tool_use_failed")}\n\n`] }],
    ["an overload in place of an answer", { deltas: [], finish: "insufficient_system_resource" }],
    ["an overload in a list", { raw: [`data: [${errorBody("The model is overloaded.")}]\n\n`] }]
  ])("is retried: %s", ([, behaviour]) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(10)
      yield* server.script(behaviour)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      assert.lengthOf(server.requests, 2)
    })
  )

  it.live("is retried once only where the model makes bad calls", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(10)
      yield* server.usually(() => badCall)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(call(request("hi"))))).reason, "malformed")
      assert.lengthOf(server.requests, 2)
    })
  )

  it.effect("with status 200 leads to a request in another dialect, as one with status 400 does", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp()
      const error = { message: "Unknown parameter: 'stream_options'", type: "invalid_request_error" }
      yield* server.script({ raw: [JSON.stringify({ error })] })
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      assert.deepStrictEqual(
        server.requests.map(({ body }) => "stream_options" in body),
        [true, false]
      )
    })
  )

  it.effect("about a field that the service adds is the operator's to mend", () =>
    Effect.gen(function* () {
      const behaviour = {
        status: 400,
        errorBody: errorBody("Unrecognized request argument supplied: stream")
      }
      const failure = yield* failureOf(behaviour)
      assert.strictEqual(failure.reason, "misconfigured")
      assert.match(failure.advice ?? "", /protocol/)
      // A client's option may be what it is about.
      const asked = yield* failureOf(behaviour, "hi", { options: { temperature: 1 } })
      assert.strictEqual(asked.reason, "bad_request")
    })
  )
})
