import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { makeOpenAiChat } from "../../src/models/OpenAiChat.ts"
import { countPromptTokens, countTokens } from "../../src/models/Tokenizer.ts"
import { makeUpstream } from "../../src/models/Upstream.ts"
import { type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import { model, patience, rawServer, request, secretKey, serverAt, setUp, textOf } from "./ChatSetup.ts"

const mockUsage = {
  inputTokens: 11,
  cachedInputTokens: 3,
  outputTokens: 7,
  reasoningTokens: 2,
  source: "provider"
}

const helloParts = [
  ...["Hello", ", ", "world", "."].map((text) => ({ type: "text", text })),
  { type: "finish", reason: "stop", usage: mockUsage }
]

describe("OpenAiChat, the request", () => {
  it.effect("asks for a stream with usage, bounded, with the key", () =>
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

  it.effect("maps every kind of message, and the tools", () =>
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

  it.effect("gives no tools to a model that knows none, and tells it of earlier calls", () =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const call = makeOpenAiChat(upstream, serverAt(server.url))({ ...model, tools: false })
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

  it.effect("sends nothing until the stream runs, and again for each run", () =>
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
    ["stream_options", "stream_options"],
    ["max_tokens", "max_tokens"],
    ["tools", "tools are not supported by this model"]
  ])("leaves out %s where the server refuses it, and remembers that", ([field, complaint]) =>
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

  it.effect("gives up where every way of asking is refused", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const errorBody = JSON.stringify({
        error: { message: "max_tokens and max_completion_tokens: too large" }
      })
      yield* server.script(...Array.from({ length: 10 }, () => ({ status: 400, errorBody })))
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "bad_request")
      assert.isAtMost(server.requests.length, 4)
    })
  )

  it.effect("takes the token parameter that the catalog names", () =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const call = makeOpenAiChat(upstream, serverAt(server.url, "max_completion_tokens"))(model)
      yield* Stream.runDrain(call(request("hi")))
      const { body } = yield* server.request(0)
      assert.strictEqual(body["max_completion_tokens"], 50)
      assert.notProperty(body, "max_tokens")
    })
  )
})

describe("OpenAiChat, the answer", () => {
  it.effect.each<MockBehaviour>([
    {},
    { lineEnd: "\r\n" },
    { lineEnd: "\r" },
    { comments: true },
    { blank: false },
    { bytesPerWrite: 1 },
    { bytesPerWrite: 7, lineEnd: "\r\n", comments: true, blank: false },
    { reasoning: ["hm", "well"] },
    { done: false },
    { headers: { "content-type": "text/plain" } }
  ])("is the same however it is sent: %j", (behaviour) =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      assert.deepStrictEqual(yield* ask(behaviour), helloParts as never)
    })
  )

  it.effect("may be one JSON document", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      const parts = yield* ask({ json: true })
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.strictEqual(parts.at(-1)?.type, "finish")
    })
  )

  it.effect("survives a cut inside every character", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      const deltas = ["日本", "😀é", "\u2028", "data: \n\n", "[DONE]"]
      for (const bytesPerWrite of [1, 2, 3, 5]) {
        assert.strictEqual(textOf(yield* ask({ deltas, bytesPerWrite })), deltas.join(""))
      }
    })
  )

  it.effect("hands over all that one read held at once, however it was chunked", () =>
    Effect.gen(function* () {
      const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
      const events = ["a", "b", "c"].map(
        (content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
      )
      const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
      const url = yield* rawServer((socket) =>
        socket.once("data", () => socket.write(head + events.map(chunk).join("")))
      )
      const call = makeOpenAiChat(yield* makeUpstream(patience), serverAt(url))(model)
      const first = yield* call(request("hi")).pipe(Stream.chunks, Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(
        first[0]?.map((part) => part.type === "text" && part.text),
        ["a", "b", "c"]
      )
    })
  )

  it.effect("brings tool calls whole", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      const calls = [
        { id: "c1", name: "calc", arguments: `{"expression":"1+1"}` },
        { id: "c2", name: "clock", arguments: "{}" }
      ]
      const parts = yield* ask({ calls, callFragments: 5 })
      assert.deepStrictEqual(
        parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : [])),
        calls
      )
      const last = parts.at(-1)
      assert.strictEqual(last?.type === "finish" && last.reason, "tool_calls")
    })
  )

  it.effect("has an estimate where the server counts nothing", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      const behaviour: MockBehaviour = { usage: null, deltas: ["One two", " three four."] }
      const last = (yield* ask(behaviour)).at(-1)
      assert.deepStrictEqual(last?.type === "finish" ? last.usage : null, {
        inputTokens: yield* countPromptTokens([{ text: mockDirective(behaviour) }]),
        cachedInputTokens: 0,
        outputTokens: yield* countTokens("One two three four."),
        reasoningTokens: 0,
        source: "estimate"
      })
    })
  )

  it.effect("is finished where the connection breaks after the finish reason", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUp
      const parts = yield* ask({ cutAt: "finish" })
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.strictEqual(parts.at(-1)?.type, "finish")
    })
  )

  it.effect("is finished where the server goes silent after the finish reason", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      const said = yield* Deferred.make<void>()
      const choice = { delta: { content: "a" }, finish_reason: "stop" }
      const raw = [`data: ${JSON.stringify({ choices: [choice] })}\n\n`]
      const stream = call(request(mockDirective({ raw, hangAt: "finish" }))).pipe(
        Stream.tap(() => Deferred.succeed(said, undefined))
      )
      const fiber = yield* Effect.forkChild(Stream.runCollect(stream))
      yield* Deferred.await(said)
      yield* TestClock.adjust("6 seconds")
      const last = (yield* Fiber.join(fiber)).at(-1)
      assert.strictEqual(last?.type === "finish" && last.usage.source, "estimate")
      assert.strictEqual(yield* (yield* server.request(0)).ended, "aborted")
    })
  )

  it.effect("uses its connections again, also where the consumer stops at the finish", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      for (let round = 0; round < 10; round++) {
        yield* call(request("hi")).pipe(
          Stream.takeUntil((part) => part.type === "finish"),
          Stream.runDrain
        )
      }
      // A second one is opened where the end of the last body is still on its way.
      assert.isAtMost(server.connections(), 2)
    })
  )
})
