import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream, Struct } from "effect"
import { TestClock } from "effect/testing"
import { type ProtocolName, protocolNames } from "../../src/providers/ModelServer.ts"
import { countPromptTokens, countTokens } from "../../src/providers/Tokenizer.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import {
  callOnce,
  frames,
  model,
  timeouts,
  rawServer,
  request,
  serverAt,
  setUpFor,
  textOf
} from "./ServerSetup.ts"

const mockUsage = {
  inputTokens: 11,
  cachedInputTokens: 3,
  cacheWriteInputTokens: 2,
  outputTokens: 7,
  reasoningTokens: 2,
  source: "provider"
}

const helloParts = [
  ...["Hello", ", ", "world", "."].map((text) => ({ type: "text", text })),
  { type: "finish", reason: "stop", usage: mockUsage }
]

const textFrame: Readonly<Record<ProtocolName, (text: string) => string>> = {
  "openai-chat": (content) => frames({ choices: [{ delta: { content } }] }),
  "openai-responses": (delta) => frames({ type: "response.output_text.delta", delta }),
  anthropic: (text) => frames({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })
}

const uncountedFinish: Readonly<Record<ProtocolName, string>> = {
  "openai-chat": frames({ choices: [{ delta: {}, finish_reason: "stop" }] }),
  "openai-responses": frames({ type: "response.completed", response: { status: "completed" } }),
  anthropic: frames({ type: "message_delta", delta: { stop_reason: "end_turn" } })
}

const usageOf: Readonly<Record<ProtocolName, (input: number, output: number) => Record<string, number>>> = {
  "openai-chat": (prompt_tokens, completion_tokens) => ({ prompt_tokens, completion_tokens }),
  "openai-responses": (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
  anthropic: (input_tokens, output_tokens) => ({
    input_tokens,
    output_tokens,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0
  })
}

describe.each(protocolNames)("%s, the answer", (protocol) => {
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
  ])("an answer is the same however it is sent: %j", (behaviour) =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const parts = yield* ask(behaviour)
      const said = parts.filter(({ type }) => type !== "reasoning_text" && type !== "reasoning")
      assert.deepStrictEqual(said, helloParts as never)
    })
  )

  it.effect("an answer may be one JSON document", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const parts = yield* ask({ json: true })
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.strictEqual(parts.at(-1)?.type, "finish")
    })
  )

  it.effect("an answer survives a cut inside every character", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const deltas = ["日本", "😀é", "\u2028", "data: \n\n", "[DONE]"]
      for (const bytesPerWrite of [1, 2, 3, 5]) {
        assert.strictEqual(textOf(yield* ask({ deltas, bytesPerWrite })), deltas.join(""))
      }
    })
  )

  it.effect("an answer arrives at once for each read of the socket, however it was chunked", () =>
    Effect.gen(function* () {
      const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
      const events = ["a", "b", "c"].map((text) => textFrame[protocol](text))
      const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
      const url = yield* rawServer((socket) =>
        socket.once("data", () => socket.write(head + events.map(chunk).join("")))
      )
      const call = (yield* callOnce(yield* makeUpstream(timeouts), serverAt(url, protocol)))(model)
      const first = yield* call(request("hi")).pipe(Stream.chunks, Stream.take(1), Stream.runCollect)
      assert.deepStrictEqual(
        first[0]?.map((part) => part.type === "text" && part.text),
        ["a", "b", "c"]
      )
    })
  )

  it.effect("an answer has whole tool calls", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const calls = [
        { id: "c1", name: "calc", arguments: `{"expression":"1+1"}` },
        { id: "c2", name: "clock", arguments: "{}" }
      ]
      const parts = yield* ask({ calls, callFragments: 5 })
      assert.deepStrictEqual(
        parts.flatMap((part) => (part.type === "tool_call" ? [Struct.omit(part.call, ["opaque"])] : [])),
        calls
      )
      const last = parts.at(-1)
      assert.strictEqual(last?.type === "finish" && last.reason, "tool_calls")
    })
  )

  it.effect("an answer has an estimate where the server counts nothing", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const behaviour: MockBehaviour = { usage: null, deltas: ["One two", " three four."] }
      const last = (yield* ask(behaviour)).at(-1)
      assert.deepStrictEqual(last?.type === "finish" ? last.usage : null, {
        inputTokens: yield* countPromptTokens(request(mockDirective(behaviour))),
        cachedInputTokens: 0,
        cacheWriteInputTokens: 0,
        outputTokens: yield* countTokens("One two three four."),
        reasoningTokens: 0,
        source: "tokenizer"
      })
    })
  )

  it.effect.each([
    { counts: [0, 0], counted: [] },
    { counts: [8, 0], counted: ["inputTokens"] },
    { counts: [0, 5], counted: ["outputTokens"] }
  ])("an answer is counted by the tokenizer where the server counts nothing: %j", ({ counted, counts }) =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const [input = 0, output = 0] = counts
      for (const calls of [[], [{ id: "c1", name: "calc", arguments: `{"expression":"1+1"}` }]]) {
        const behaviour: MockBehaviour = {
          calls,
          deltas: calls.length > 0 ? [] : ["One two", " three four."],
          usage: usageOf[protocol](input, output)
        }
        const last = (yield* ask(behaviour)).at(-1)
        const written = calls.length > 0 ? `calc{"expression":"1+1"}` : "One two three four."
        assert.deepInclude(last?.type === "finish" ? last.usage : null, {
          inputTokens: counted.includes("inputTokens")
            ? input
            : yield* countPromptTokens(request(mockDirective(behaviour))),
          outputTokens: counted.includes("outputTokens") ? output : yield* countTokens(written),
          source: "tokenizer"
        })
      }
    })
  )

  it.effect("an answer is finished where the connection breaks after the finish reason", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const parts = yield* ask({ cutAt: "finish" })
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.strictEqual(parts.at(-1)?.type, "finish")
    })
  )

  it.effect("an answer is finished where the server sends nothing after the finish reason", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const said = yield* Deferred.make<void>()
      const raw = [textFrame[protocol]("a"), uncountedFinish[protocol]]
      const stream = call(request(mockDirective({ raw, hangAt: "finish" }))).pipe(
        Stream.tap(() => Deferred.succeed(said, undefined))
      )
      const fiber = yield* Effect.forkChild(Stream.runCollect(stream))
      yield* Deferred.await(said)
      yield* TestClock.adjust("6 seconds")
      const last = (yield* Fiber.join(fiber)).at(-1)
      assert.strictEqual(last?.type === "finish" && last.usage.source, "tokenizer")
      assert.strictEqual(yield* (yield* server.request(0)).ended, "aborted")
    })
  )

  it.effect("an answer leaves its connection reusable, also where the consumer stops at the finish", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
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
