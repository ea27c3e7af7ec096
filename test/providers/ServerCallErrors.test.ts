import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelRequest } from "../../src/domain/ModelCall.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { monotonicSeconds } from "../../src/runtime/Monotonic.ts"
import { makeMockModelServer, type MockBehaviour } from "../support/MockModelServer.ts"
import { frames, gate, model, request, secretKey, serverAt, textOf, timeouts } from "./ServerSetup.ts"

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
  ])("an error of a provider is retried: %s", ([, behaviour]) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(10)
      yield* server.script(behaviour)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      assert.lengthOf(server.requests, 2)
    })
  )

  it.live("an error of a provider is retried once only where the model makes bad calls", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(10)
      yield* server.usually(() => badCall)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(call(request("hi"))))).reason, "malformed")
      assert.lengthOf(server.requests, 2)
    })
  )

  it.effect("an error with status 200 leads to another dialect, as one with status 400 does", () =>
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

  it.effect("an error about a field that the service adds is the operator's", () =>
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

describe("a refusal of what follows the results of tools", () => {
  const behaviour = { status: 400, errorBody: errorBody("messages.2: what follows a call is missing") }
  const spec = { name: "calculator", description: "", parameters: {} }
  const messages = [
    { role: "user", text: "hi" },
    { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "calculator", arguments: "{}" }] },
    { role: "tool", callId: "c1", name: "calculator", text: "5" }
  ] as const

  it.effect(
    "a refusal behind results of the service's tools is the operator's, and counts against the model",
    () =>
      Effect.gen(function* () {
        const server = yield* makeMockModelServer
        const upstream = yield* makeUpstream(timeouts)
        const through = yield* gate()
        const call = makeServerCall(upstream, serverAt(server.url), { gate: through, retrySeconds: 0 })(model)
        yield* server.usually(() => behaviour)
        const asked = { messages, maxOutputTokens: 50, tools: [], followsOwnCalls: true }
        const failure = yield* Effect.flip(Stream.runDrain(call(asked)))
        assert.strictEqual(failure.reason, "misconfigured")
        assert.match(failure.advice ?? "", /what follows a tool call/)
        assert.strictEqual(through.recordOf(model.id).seen(yield* monotonicSeconds).failures, 1)

        // A refusal may concern calls of the client's history, so it counts against the request.
        const clients = { ...asked, tools: [spec], followsOwnCalls: false }
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(call(clients)))).reason, "bad_request")
        assert.strictEqual(Math.round(through.recordOf(model.id).seen(yield* monotonicSeconds).failures), 1)
      })
  )
})

describe("the sentence of a failure, for the log", () => {
  const withheld = "[withheld, because it quotes the prompt]"

  it.effect.each<readonly [string, MockBehaviour, string, string | undefined]>([
    ["a refusal", { status: 400, errorBody: errorBody("No, never.") }, "hi", "No, never."],
    [
      "a failure",
      { status: 500, errorBody: errorBody(`Out of memory (${secretKey})`) },
      "hi",
      "Out of memory ([redacted])"
    ],
    ["an error in the stream", { raw: [frames({ error: { message: "It broke." } })] }, "hi", "It broke."],
    ["no words", { status: 500, errorBody: "" }, "hi", undefined],
    ["a lost connection", { cutAt: 0 }, "hi", undefined],
    [
      "a long prompt",
      { status: 400, errorBody: errorBody("Bad: the plan of the whole company for next year") },
      "What is the plan of the whole company for next year?",
      withheld
    ],
    [
      "a short prompt",
      { status: 400, errorBody: errorBody("Can't answer 'my secret'") },
      "my secret",
      withheld
    ],
    [
      "a word that the prompt has too",
      { status: 400, errorBody: errorBody("Refused: secretly") },
      "secret",
      "Refused: secretly"
    ],
    [
      "the answer, by llama.cpp",
      { status: 500, errorBody: errorBody("Failed to parse input at pos 3: my secret") },
      "hi",
      "Failed to parse input at pos 3: [withheld]"
    ],
    [
      "the answer in the stream",
      {
        raw: [
          frames(
            { choices: [{ delta: { content: "The plan of the whole company is this." } }] },
            { error: { message: "Stopped after: The plan of the whole company is this." } }
          )
        ]
      },
      "hi",
      withheld
    ]
  ])("the log's sentence of a failure has what may be shown: %s", ([, behaviour, prompt, sentence]) =>
    Effect.gen(function* () {
      const failure = yield* failureOf(behaviour, prompt)
      assert.strictEqual(failure.logSentence, sentence)
      assert.isUndefined(failure.sentence)
    })
  )
})
