import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { callOnce, model, request, secretKey, serverAt, setUpFor, textOf } from "./ServerSetup.ts"

const setUp = setUpFor("openai-chat")

describe("OpenAiChat, the request", () => {
  it.effect("a chat request asks for a bounded stream with usage, with the key", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      yield* Stream.runDrain(call(request("hi")))
      const { body, headers } = yield* server.request(0)
      assert.deepStrictEqual(body, {
        model: "mock-model",
        messages: [{ role: "user", content: "hi" }],
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 50
      })
      assert.strictEqual(headers.authorization, `Bearer ${secretKey}`)
    })
  )

  const conversation: ReadonlyArray<ModelMessage> = [
    { role: "system", text: "Be brief." },
    { role: "user", text: "1+1?" },
    { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "calc", arguments: `{"e":"1+1"}` }] },
    { role: "tool", callId: "c1", name: "calc", text: "2" },
    { role: "assistant", text: "2", toolCalls: [] }
  ]
  const tools = [{ name: "calc", description: "Calculates.", parameters: { type: "object" } }]

  it.effect("a chat request maps every kind of message, and the tools", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      yield* Stream.runDrain(call(request("", { messages: conversation, tools })))
      const { body } = yield* server.request(0)
      assert.deepStrictEqual(body["messages"], [
        { role: "system", content: "Be brief." },
        { role: "user", content: "1+1?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "calc", arguments: `{"e":"1+1"}` } }]
        },
        { role: "tool", tool_call_id: "c1", content: "2" },
        { role: "assistant", content: "2" }
      ])
      assert.deepStrictEqual(body["tools"], [
        {
          type: "function",
          function: { name: "calc", description: "Calculates.", parameters: { type: "object" } }
        }
      ])
    })
  )

  it.effect("a chat request to a model without tools describes earlier calls in words", () =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const call = (yield* callOnce(upstream, serverAt(server.url)))({ ...model, tools: false })
      yield* Stream.runDrain(call(request("", { messages: conversation, tools })))
      const { body } = yield* server.request(0)
      assert.notProperty(body, "tools")
      assert.deepStrictEqual(body["messages"], [
        { role: "system", content: "Be brief." },
        { role: "user", content: "1+1?" },
        { role: "assistant", content: `[called calc with {"e":"1+1"}]` },
        { role: "user", content: "[result of calc]\n2" },
        { role: "assistant", content: "2" }
      ])
    })
  )

  it.effect(
    "a chat request without offered tools describes earlier calls in words, for servers that refuse calls",
    () =>
      Effect.gen(function* () {
        const { call, server } = yield* setUp
        yield* Stream.runDrain(call(request("", { messages: conversation })))
        const { body } = yield* server.request(0)
        assert.notProperty(body, "tools")
        assert.deepInclude(body["messages"], { role: "user", content: "[result of calc]\n2" })
      })
  )

  it.effect(
    "a chat request sends a round of calls before a question as text, because strict servers refuse it",
    () =>
      Effect.gen(function* () {
        const { call, server } = yield* setUp
        const open = [...conversation.slice(0, -1), { role: "user" as const, text: "And 2+2?" }]
        yield* Stream.runDrain(call(request("", { messages: open, tools })))
        const { body } = yield* server.request(0)
        assert.deepStrictEqual(body["messages"], [
          { role: "system", content: "Be brief." },
          { role: "user", content: "1+1?" },
          { role: "assistant", content: `[called calc with {"e":"1+1"}]` },
          { role: "user", content: "[result of calc]\n2\n\nAnd 2+2?" }
        ])
      })
  )

  it.effect.each([true, false])("a chat request joins messages of one role in a row (tools: %s)", (tools) =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const call = (yield* callOnce(upstream, serverAt(server.url)))({ ...model, tools })
      const messages: ReadonlyArray<ModelMessage> = [
        { role: "user", text: "Passages" },
        { role: "user", text: "1+1?" },
        { role: "assistant", text: "Well.", toolCalls: [] },
        { role: "assistant", text: "2", toolCalls: [] },
        { role: "user", text: "And?" }
      ]
      yield* Stream.runDrain(call(request("", { messages })))
      const { body } = yield* server.request(0)
      assert.deepStrictEqual(body["messages"], [
        { role: "user", content: "Passages\n\n1+1?" },
        { role: "assistant", content: "Well.\n\n2" },
        { role: "user", content: "And?" }
      ])
    })
  )

  it.effect("a chat request is sent when the stream runs, and again for each run", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const stream = call(request("hi"))
      assert.strictEqual(server.requests.length, 0)
      yield* Stream.runDrain(stream)
      yield* Stream.runDrain(stream)
      assert.strictEqual(server.requests.length, 2)
    })
  )

  it.effect.each<readonly [string, string]>([
    ["stream_options", "Unknown parameter: 'stream_options'"],
    ["max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model."],
    ["tools", "tools are not supported by this model"]
  ])("a chat request leaves out %s where the server refuses it, and later, too", ([field, complaint]) =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const errorBody = JSON.stringify({ error: { message: `bad: ${complaint}` } })
      const asked = request("hi", { tools })
      yield* server.script({ refusesField: field, errorBody })
      assert.strictEqual(textOf(yield* Stream.runCollect(call(asked))), "Hello, world.")
      yield* Stream.runDrain(call(asked))
      const bodies = server.requests.map(({ body }) => Object.keys(body))
      assert.deepStrictEqual(
        bodies.map((keys) => keys.includes(field)),
        [true, false, false]
      )
      assert.isTrue(bodies.slice(1).every((keys) => keys.some((key) => key.startsWith("max_"))))
    })
  )

  it.effect("a chat request leaves out a refused effort that is a hint, and no other one", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const errorBody = JSON.stringify({
        error: { message: "Unsupported value: 'reasoning_effort' does not support 'none' with this model." }
      })
      yield* server.script({ refusesField: "reasoning_effort", errorBody })
      const options = { reasoningEffort: "none" } as const
      const hinted = request("hi", { options: { ...options, effortIsHint: true } })
      assert.strictEqual(textOf(yield* Stream.runCollect(call(hinted))), "Hello, world.")
      assert.deepStrictEqual(
        server.requests.map(({ body }) => body["reasoning_effort"]),
        ["none", undefined]
      )
      yield* server.script({ refusesField: "reasoning_effort", errorBody })
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi", { options }))))
      assert.strictEqual(failure.parameter, "reasoning.effort")
    })
  )

  it.effect("a chat request fails where every way of asking is refused", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const errorBody = JSON.stringify({
        error: { message: "max_tokens and max_completion_tokens are not supported" }
      })
      yield* server.script(...Array.from({ length: 10 }, () => ({ status: 400, errorBody })))
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "bad_request")
      assert.isAtMost(server.requests.length, 4)
    })
  )

  it.effect("a chat request has the token parameter that the catalog names", () =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const call = (yield* callOnce(
        upstream,
        serverAt(server.url, "openai-chat", { tokenParameter: "max_completion_tokens" })
      ))(model)
      yield* Stream.runDrain(call(request("hi")))
      const { body } = yield* server.request(0)
      assert.strictEqual(body["max_completion_tokens"], 50)
      assert.notProperty(body, "max_tokens")
    })
  )
})
