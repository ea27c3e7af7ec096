import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ModelMessage, ModelRequest, ToolSpec } from "../../src/domain/ModelCall.ts"
import { makeScriptedServer, type ScriptedReply } from "../support/ScriptedServer.ts"
import { goingBack, setUpPackage } from "./SdkSetup.ts"
import { request, secretKey, textOf, untilFailure } from "./ServerSetup.ts"

const modelId = "gemini-3-pro-preview"

const setUp = (more: object = {}) =>
  Effect.gen(function* () {
    const gemini = yield* makeScriptedServer
    const call = yield* setUpPackage({ package: "@ai-sdk/google" }, gemini.url, { modelId, ...more })
    return { call, gemini }
  })

const usageMetadata = {
  promptTokenCount: 20,
  cachedContentTokenCount: 8,
  candidatesTokenCount: 12,
  thoughtsTokenCount: 30,
  totalTokenCount: 62
}

/** One event of Gemini's own stream. */
const said = (parts: ReadonlyArray<object>, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }]
})

const ended = (finishReason = "STOP") => ({ ...said([], { finishReason }), usageMetadata })

const tool: ToolSpec = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  param: "tools[0]"
}

const asking = (messages: ReadonlyArray<ModelMessage>, more: Partial<ModelRequest> = {}): ModelRequest =>
  request("", { messages, tools: [tool], ...more })

const hello: ScriptedReply = { events: [said([{ text: "Hel" }]), said([{ text: "lo" }]), ended()] }

const question: ModelMessage = { role: "user", text: "Rome or Oslo?" }

const inRome = { name: "weather", args: { city: "Rome" } }
const inOslo = { name: "weather", args: { city: "Oslo" } }

describe("Gemini by @ai-sdk/google", () => {
  it.effect("Gemini answers with text and usage, and gets the key and the trace in headers", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script(hello)
      const parts = yield* Effect.withSpan(Stream.runCollect(call(request("hi"))), "a request")
      assert.strictEqual(textOf(parts), "Hello")
      assert.deepStrictEqual(parts.at(-1), {
        type: "finish",
        reason: "stop",
        usage: {
          inputTokens: 20,
          cachedInputTokens: 8,
          cacheWriteInputTokens: 0,
          outputTokens: 42,
          reasoningTokens: 30,
          source: "provider"
        }
      })
      const { body, headers, path } = gemini.requests[0]!
      assert.strictEqual(path, `/v1/models/${modelId}:streamGenerateContent?alt=sse`)
      assert.strictEqual(headers["x-goog-api-key"], secretKey)
      assert.strictEqual(headers["content-type"], "application/json")
      assert.match(headers["traceparent"]?.toString() ?? "", /^00-[0-9a-f]{32}-/)
      assert.deepStrictEqual(body["contents"], [{ role: "user", parts: [{ text: "hi" }] }])
      assert.deepInclude(body["generationConfig"], { maxOutputTokens: 50 })
    })
  )

  it.effect(
    "Gemini gets its thoughts and its signatures back through parallel calls and in the next turn",
    () =>
      Effect.gen(function* () {
        const { call, gemini } = yield* setUp()
        const thought = { text: "Both.", thought: true, thoughtSignature: "SIG-T" }
        yield* gemini.script(
          {
            events: [
              said([thought]),
              said([{ functionCall: inRome, thoughtSignature: "SIG-C" }, { functionCall: inOslo }]),
              ended()
            ]
          },
          hello,
          hello
        )
        const first = yield* Stream.runCollect(call(asking([question])))
        assert.deepInclude(first, { type: "reasoning_text", text: "Both." })
        const calls = first.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
        assert.deepStrictEqual(
          calls.map(({ arguments: input, name }) => [name, input]),
          [
            ["weather", '{"city":"Rome"}'],
            ["weather", '{"city":"Oslo"}']
          ]
        )
        assert.notStrictEqual(calls[0]?.id, calls[1]?.id)
        assert.deepInclude(first.at(-1), { type: "finish", reason: "tool_calls" })

        const round = [question, ...goingBack(first)]
        const second = yield* Stream.runCollect(call(asking(round)))
        const third = asking([...round, ...goingBack(second), { role: "user", text: "And now?" }])
        yield* Stream.runDrain(call(third))
        for (const { body } of gemini.requests.slice(1)) {
          const contents = body["contents"] as ReadonlyArray<{ role: string; parts: ReadonlyArray<object> }>
          assert.deepStrictEqual(contents[1], {
            role: "model",
            parts: [
              thought,
              { functionCall: { ...inRome, id: calls[0]?.id }, thoughtSignature: "SIG-C" },
              { functionCall: { ...inOslo, id: calls[1]?.id } }
            ]
          })
          assert.strictEqual(contents[2]?.role, "user")
          assert.lengthOf(contents[2]?.parts ?? [], 2)
          assert.include(JSON.stringify(contents[2]), "result 1")
        }
      })
  )

  it.effect("Gemini gets what another model said without its thoughts and signatures", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script(hello)
      const opaque = {
        origin: "ai-sdk another model",
        data: JSON.stringify({ google: { thoughtSignature: "SECRET" } })
      }
      yield* Stream.runDrain(
        call(
          asking([
            question,
            {
              role: "assistant",
              text: "",
              reasoning: [{ text: "SECRET", opaque }],
              toolCalls: [{ id: "a", name: "weather", arguments: "{}", opaque }]
            },
            { role: "tool", callId: "a", name: "weather", text: "sunny" }
          ])
        )
      )
      assert.notInclude(JSON.stringify(gemini.requests[0]?.body), "SECRET")
      assert.include(JSON.stringify(gemini.requests[0]?.body), "sunny")
    })
  )

  it.effect("Gemini gets the options of a client in its own fields", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script(hello)
      const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
      yield* Stream.runDrain(
        call(
          request("hi", {
            options: {
              temperature: 0.5,
              topP: 0.9,
              stop: ["END"],
              seed: 7,
              reasoningEffort: "low",
              format: { type: "json_schema", name: "person", description: null, schema, strict: true }
            }
          })
        )
      )
      assert.deepInclude(gemini.requests[0]?.body["generationConfig"], {
        temperature: 0.5,
        topP: 0.9,
        stopSequences: ["END"],
        seed: 7,
        responseMimeType: "application/json"
      })
      assert.include(JSON.stringify(gemini.requests[0]?.body), '"thinkingLevel":"low"')
    })
  )

  it.effect("Gemini must call the tool that a client names", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script(hello)
      yield* Stream.runDrain(call(asking([question], { options: { toolChoice: { name: "weather" } } })))
      assert.deepNestedInclude(gemini.requests[0]?.body, {
        "toolConfig.functionCallingConfig.mode": "ANY",
        "toolConfig.functionCallingConfig.allowedFunctionNames": ["weather"]
      })
    })
  )
})

const refusal = (code: number, status: string, message: string, more: object = {}): ScriptedReply => ({
  status: code,
  body: JSON.stringify({ error: { code, status, message, ...more } })
})

describe("failures of Gemini by @ai-sdk/google", () => {
  it.effect.each([
    [refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), "rate_limited", 429],
    [refusal(503, "UNAVAILABLE", "The model is overloaded."), "server_error", 503],
    [
      refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
      "unauthorized",
      400
    ],
    [refusal(404, "NOT_FOUND", "models/x is not found"), "misconfigured", 404],
    [
      refusal(
        400,
        "INVALID_ARGUMENT",
        "The input token count exceeds the maximum number of tokens allowed (1048576)."
      ),
      "context_length",
      400
    ],
    [{ events: [said([{ text: "Hi" }])], end: "cut" }, "cut", undefined],
    [{ events: [said([{ text: "Hi" }])] }, "no_finish", undefined],
    [
      { events: [said([{ text: "Hi" }]), { error: { code: 503, status: "UNAVAILABLE", message: "busy" } }] },
      "in_stream",
      503
    ],
    [{ events: [said([{ text: "Hi" }]), ended("MALFORMED_FUNCTION_CALL")] }, "malformed", undefined],
    [{ status: 502, body: "<html><title>Bad Gateway</title></html>" }, "server_error", 502]
  ] as const)("Gemini's answer %j is %s", ([reply, reason, status]) =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script(reply)
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, reason)
      assert.strictEqual(failure.status, status)
      if (reason === "context_length") assert.strictEqual(failure.contextTokens, 1_048_576)
    })
  )

  it.effect("a failure of Gemini waits as long as a header or the body asks, and never shows the key", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "9s" }]
      const limit = refusal(429, "RESOURCE_EXHAUSTED", `Quota of ${secretKey}`, { details })
      yield* gemini.script({ ...limit, headers: { "retry-after": "7" } }, limit)
      const byHeader = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(byHeader.retryAfterSeconds, 7)
      assert.strictEqual(byHeader.logSentence, "Quota of [redacted]")
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(call(request("hi"))))).retryAfterSeconds, 9)
    })
  )

  it.effect("a failure without any key of Gemini is a matter of the key", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp({ hasKey: false })
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "unauthorized")
      assert.include(failure.advice, "keyVariable")
      assert.lengthOf(gemini.requests, 0)
    })
  )

  it.live("a failure of Gemini before the first output is retried", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp({ retrySeconds: 5 })
      yield* gemini.script(refusal(503, "UNAVAILABLE", "busy"), hello)
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello")
    })
  )

  it.effect("a request to Gemini is refused where nothing listens", () =>
    Effect.gen(function* () {
      const url = yield* Effect.scoped(Effect.map(makeScriptedServer, (server) => server.url))
      const call = yield* setUpPackage({ package: "@ai-sdk/google" }, url, { modelId })
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "refused")
      assert.include(failure.detail, "ECONNREFUSED")
    })
  )

  it.effect.each<ScriptedReply>([{ silent: true }, { events: [], end: "hang" }])(
    "a request to Gemini without a first output is aborted: %j",
    (reply) =>
      Effect.gen(function* () {
        const { call, gemini } = yield* setUp()
        yield* gemini.script(reply)
        const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(call(request("hi")))))
        const received = yield* gemini.request(0)
        yield* TestClock.adjust("19 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        const failure = yield* Fiber.join(fiber)
        assert.strictEqual(failure.reason, "first_token_timeout")
        assert.include(failure.detail, "20 seconds")
        assert.strictEqual(yield* received.ended, "aborted")
      })
  )

  it.effect("a request to Gemini is aborted when it falls silent", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script({ events: [said([{ text: "Hi" }])], end: "hang" })
      const begun = yield* Deferred.make<void>()
      const answer = Stream.runForEach(call(request("hi")), () => Deferred.succeed(begun, undefined))
      const fiber = yield* Effect.forkChild(Effect.flip(answer))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("12 seconds")
      const failure = yield* Fiber.join(fiber)
      assert.strictEqual(failure.reason, "idle_timeout")
      assert.include(failure.detail, "10 seconds")
      assert.strictEqual(yield* gemini.requests[0]!.ended, "aborted")
    })
  )

  it.effect("a request to Gemini is aborted when the client goes away", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script({ events: [said([{ text: "Hi" }])], end: "hang" })
      assert.isTrue(Option.isSome(yield* Stream.runHead(call(request("hi")))))
      assert.strictEqual(yield* gemini.requests[0]!.ended, "aborted")
    })
  )

  it.effect("a request to Gemini without an answer is aborted with its caller", () =>
    Effect.gen(function* () {
      const { call, gemini } = yield* setUp()
      yield* gemini.script({ silent: true })
      const fiber = yield* Effect.forkChild(Stream.runDrain(call(request("hi"))))
      const received = yield* gemini.request(0)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* received.ended, "aborted")
    })
  )
})
