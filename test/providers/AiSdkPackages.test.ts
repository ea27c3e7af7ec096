import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import type { AnswerOptions, ModelMessage, ToolSpec } from "../../src/domain/ModelCall.ts"
import type { SdkEntry } from "../../src/providers/AiSdkPackage.ts"
import { makeMockModelServer, type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import { makeScriptedServer, type ScriptedReply } from "../support/ScriptedServer.ts"
import { goingBack, setUpPackage } from "./SdkSetup.ts"
import { frames, rawServer, request, secretKey, textOf, untilFailure } from "./ServerSetup.ts"

const tool: ToolSpec = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  param: "tools[0]"
}

const question: ModelMessage = { role: "user", text: "Rome or Oslo?" }

const calls = [
  { id: "call_rome", name: "weather", arguments: '{"city":"Rome"}' },
  { id: "call_oslo", name: "weather", arguments: '{"city":"Oslo"}' }
]

/** A package of each version of the interface, and of each protocol of the mock server. */
const packages: ReadonlyArray<SdkEntry & { readonly package: string }> = [
  { package: "ai-sdk-openai-2" },
  { package: "ai-sdk-openai-3" },
  { package: "@ai-sdk/openai" },
  { package: "@ai-sdk/anthropic" }
]

const setUp = (entry: SdkEntry) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    return { call: yield* setUpPackage(entry, server.url), server }
  })

describe.each(packages)("$package", (entry) => {
  it.effect("the package answers with text, and with the usage of its server", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(entry)
      const parts = yield* Stream.runCollect(call(request("hi")))
      assert.strictEqual(textOf(parts), "Hello, world.")
      assert.deepInclude(parts.at(-1), { type: "finish", reason: "stop" })
      assert.nestedPropertyVal(parts.at(-1), "usage.inputTokens", 11)
      assert.nestedPropertyVal(parts.at(-1), "usage.outputTokens", 7)
      assert.include(JSON.stringify(server.requests[0]?.headers), secretKey)
    })
  )

  it.effect("the package calls two tools at once, and goes on with their results", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(entry)
      yield* server.script({ deltas: [], calls, finish: "tool_calls" })
      const first = yield* Stream.runCollect(call(request("", { messages: [question], tools: [tool] })))
      assert.deepStrictEqual(
        first.flatMap((part) => (part.type === "tool_call" ? [[part.call.id, part.call.arguments]] : [])),
        calls.map((one) => [one.id, one.arguments])
      )
      assert.deepInclude(first.at(-1), { reason: "tool_calls" })
      const messages = [question, ...goingBack(first)]
      const parts = yield* Stream.runCollect(call(request("", { messages, tools: [tool] })))
      assert.strictEqual(textOf(parts), "Hello, world.")
      const body = JSON.stringify(server.requests[1]?.body)
      for (const text of ["call_rome", "Oslo", "result 0", "result 1"]) assert.include(body, text)
    })
  )

  it.effect.each<readonly [MockBehaviour, ModelFailure["reason"], number | undefined, string]>([
    [{ status: 401 }, "unauthorized", 401, ""],
    [{ status: 400 }, "bad_request", 400, ""],
    [{ status: 404 }, "misconfigured", 404, ""],
    [{ status: 429, errorBody: '{"error":{"type":"insufficient_quota"}}' }, "misconfigured", 429, ""],
    [{ status: 429 }, "rate_limited", 429, ""],
    [{ status: 503, errorBody: "<html>no</html>" }, "server_error", 503, ""],
    [{ cutAt: "headers" }, "refused", undefined, ""],
    [{ cutAt: 2 }, "cut", undefined, "Hello, "],
    [{ finish: null, done: false }, "no_finish", undefined, "Hello, world."]
  ])("the package fails for an answer with %j: %s", ([behaviour, reason, status, before]) =>
    Effect.gen(function* () {
      const { call } = yield* setUp(entry)
      const { failure, parts } = yield* untilFailure(call(request(mockDirective(behaviour))))
      assert.strictEqual(failure.reason, reason)
      assert.strictEqual(failure.status, status)
      assert.strictEqual(textOf(parts), before)
    })
  )

  it.effect("the package fails with an error in its stream, and with the status of that error", () =>
    Effect.gen(function* () {
      const call = yield* Effect.map(setUp(entry), (made) => made.call)
      const { failure, parts } = yield* untilFailure(call(request(mockDirective({ errorAt: 2 }))))
      assert.strictEqual(textOf(parts), "Hello, ")
      // This version reads no such event, and says at the end that it saw no finish.
      const isOldest = entry.package === "ai-sdk-openai-2"
      assert.strictEqual(failure.reason, isOldest ? "no_finish" : "in_stream")
      assert.strictEqual(failure.status !== undefined, !isOldest)
    })
  )

  it.effect("the package aborts an endless answer when nobody reads it any more", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp(entry)
      yield* Stream.runDrain(Stream.take(call(request(mockDirective({ endless: true }))), 3))
      assert.strictEqual(yield* server.requests[0]!.ended, "aborted")
    })
  )
})

describe("options that a package refuses", () => {
  it.effect.each<readonly [SdkEntry, AnswerOptions, string]>([
    [{ package: "@ai-sdk/anthropic" }, { seed: 1 }, "seed"],
    [{ package: "@ai-sdk/anthropic" }, { presencePenalty: 1 }, "presence_penalty"],
    [{ package: "@ai-sdk/openai" }, { stop: ["END"] }, "stop"],
    [{ package: "ai-sdk-openai-2" }, { stop: ["END"] }, "stop"],
    [{ package: "ai-sdk-openai-3" }, { seed: 1 }, "seed"]
  ])("%j refuses %j with a 400 that names %s", ([entry, options, parameter]) =>
    Effect.gen(function* () {
      const { call } = yield* setUp(entry)
      const { failure, parts } = yield* untilFailure(call(request("hi", { options })))
      assert.deepStrictEqual(parts, [])
      assert.strictEqual(failure.reason, "bad_request")
      assert.strictEqual(failure.parameter, parameter)
    })
  )

  it.effect("options of the catalog that a package refuses are an error of the operator", () =>
    Effect.gen(function* () {
      const { call } = yield* setUp({
        package: "@ai-sdk/anthropic",
        providerOptions: { anthropic: { thinking: "a lot" } }
      })
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "misconfigured")
    })
  )
})

describe("Claude by @ai-sdk/anthropic", () => {
  const block = (index: number, content_block: object, ...deltas: ReadonlyArray<object>) => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index }
  ]

  const answer = (...blocks: ReadonlyArray<ReadonlyArray<object>>): ScriptedReply => ({
    events: [
      {
        type: "message_start",
        message: {
          id: "msg",
          type: "message",
          role: "assistant",
          model: "claude",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: 9,
            output_tokens: 1,
            cache_read_input_tokens: 4,
            cache_creation_input_tokens: 2
          }
        }
      },
      ...blocks.flat(),
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 5 }
      },
      { type: "message_stop" }
    ]
  })

  it.effect("Claude gets its thinking back with its signatures, also what it doesn't show", () =>
    Effect.gen(function* () {
      const claude = yield* makeScriptedServer
      const call = yield* setUpPackage({ package: "@ai-sdk/anthropic" }, claude.url)
      const reply = answer(
        block(
          0,
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "Both." },
          { type: "signature_delta", signature: "SIG" }
        ),
        block(1, { type: "redacted_thinking", data: "HIDDEN" }),
        block(
          2,
          { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
          { type: "input_json_delta", partial_json: '{"city":' },
          { type: "input_json_delta", partial_json: '"Rome"}' }
        )
      )
      yield* claude.script(reply, reply)
      const first = yield* Stream.runCollect(call(request("", { messages: [question], tools: [tool] })))
      assert.deepInclude(first.at(-1), {
        reason: "tool_calls",
        usage: {
          inputTokens: 15,
          cachedInputTokens: 4,
          cacheWriteInputTokens: 2,
          outputTokens: 5,
          reasoningTokens: 0,
          source: "provider"
        }
      })
      const messages = [question, ...goingBack(first)]
      yield* Stream.runDrain(call(request("", { messages, tools: [tool] })))
      const sent = claude.requests[1]?.body["messages"] as ReadonlyArray<{ content: unknown }>
      assert.deepStrictEqual(sent[1]?.content, [
        { type: "thinking", thinking: "Both.", signature: "SIG" },
        { type: "redacted_thinking", data: "HIDDEN" },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } }
      ])
    })
  )

  it.effect("Claude is asked once more without its thinking where its server refuses it", () =>
    Effect.gen(function* () {
      const claude = yield* makeScriptedServer
      const call = yield* setUpPackage({ package: "@ai-sdk/anthropic" }, claude.url)
      const thought = block(
        0,
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "Both." },
        { type: "signature_delta", signature: "SIG" }
      )
      const said = block(1, { type: "text", text: "" }, { type: "text_delta", text: "Rome." })
      const reply = answer(thought, said)
      const message = "messages.1.content.0: Invalid `signature` in `thinking` block"
      const refusal = {
        status: 400,
        body: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } })
      }
      yield* claude.script(reply, refusal, reply)
      const first = yield* Stream.runCollect(call(request("hi")))
      const messages = [question, ...goingBack(first), { role: "user" as const, text: "Sure?" }]
      assert.strictEqual(textOf(yield* Stream.runCollect(call(request("", { messages })))), "Rome.")
      assert.include(JSON.stringify(claude.requests[1]?.body), "SIG")
      assert.notInclude(JSON.stringify(claude.requests[2]?.body), "SIG")
    })
  )
})

describe("Mistral by @ai-sdk/mistral", () => {
  const chunk = (delta: object, more: object = {}) => ({
    id: "m",
    object: "chat.completion.chunk",
    created: 1_780_000_000,
    model: "magistral",
    choices: [{ index: 0, delta, finish_reason: null, ...more }]
  })

  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

  it.effect("Mistral gets its thinking back before its calls, under its own ids", () =>
    Effect.gen(function* () {
      const mistral = yield* makeScriptedServer
      const call = yield* setUpPackage({ package: "@ai-sdk/mistral" }, mistral.url)
      const think = (text: string) => ({
        content: [{ type: "thinking", thinking: [{ type: "text", text }] }]
      })
      const called = (index: number, id: string, city: string) => ({
        index,
        id,
        function: { name: "weather", arguments: JSON.stringify({ city }) }
      })
      yield* mistral.script(
        {
          events: [
            chunk({ role: "assistant", ...think("Bo") }),
            chunk(think("th.")),
            chunk({ tool_calls: [called(0, "abcdefghi", "Rome"), called(1, "bcdefghij", "Oslo")] }),
            { ...chunk({}, { finish_reason: "tool_calls" }), usage }
          ]
        },
        { events: [chunk({ content: "Rome." }), { ...chunk({}, { finish_reason: "stop" }), usage }] }
      )
      const first = yield* Stream.runCollect(call(request("", { messages: [question], tools: [tool] })))
      assert.deepInclude(first, { type: "reasoning_text", text: "th." })
      assert.nestedPropertyVal(first.at(-1), "usage.inputTokens", 11)
      const messages = [question, ...goingBack(first)]
      assert.strictEqual(
        textOf(yield* Stream.runCollect(call(request("", { messages, tools: [tool] })))),
        "Rome."
      )
      const sent = mistral.requests[1]?.body["messages"] as ReadonlyArray<Record<string, unknown>>
      assert.deepStrictEqual(sent[1]?.["content"], [
        { type: "thinking", thinking: [{ type: "text", text: "Both." }], closed: true }
      ])
      assert.deepStrictEqual(
        sent.map((message) => message["tool_call_id"]),
        [undefined, undefined, "abcdefghi", "bcdefghij"]
      )
    })
  )

  it.effect("Mistral fails with the words of an error in its stream that the package can't read", () =>
    Effect.gen(function* () {
      const mistral = yield* makeScriptedServer
      const call = yield* setUpPackage({ package: "@ai-sdk/mistral" }, mistral.url)
      const error = {
        object: "error",
        message: "Service unavailable.",
        type: "internal_server_error",
        code: "3000"
      }
      yield* mistral.script({ events: [chunk({ content: "Ro" }), error] })
      const { failure } = yield* untilFailure(call(request("hi")))
      assert.strictEqual(failure.reason, "in_stream")
      assert.include(failure.detail, "internal_server_error")
      assert.strictEqual(failure.logSentence, "Service unavailable.")
    })
  )

  it.effect("Mistral is asked again at once where a kept-alive connection was closed", () =>
    Effect.gen(function* () {
      const body = frames(chunk({ content: "Rome." }), { ...chunk({}, { finish_reason: "stop" }), usage })
      const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}`
      let answers = 0
      const url = yield* rawServer((socket) => {
        let served = 0
        socket.on("data", () => {
          // The second request on a connection finds it closing.
          if (++served > 1) return void socket.end()
          answers++
          socket.write(`${head}\r\n\r\n${body}`)
        })
      })
      const call = yield* setUpPackage({ package: "@ai-sdk/mistral" }, url)
      for (let round = 0; round < 3; round++)
        assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Rome.")
      assert.strictEqual(answers, 3)
    })
  )

  it.effect("Mistral gets a schema and a forced tool in its own fields, and a refusal has its sentence", () =>
    Effect.gen(function* () {
      const mistral = yield* makeScriptedServer
      const call = yield* setUpPackage({ package: "@ai-sdk/mistral" }, mistral.url)
      const detail = [
        { type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }
      ]
      yield* mistral.script({ status: 422, body: JSON.stringify({ object: "error", message: { detail } }) })
      const schema = { type: "object", properties: { name: { type: "string" } } }
      const options: AnswerOptions = {
        seed: 7,
        toolChoice: "required",
        format: { type: "json_schema", name: "person", description: null, schema, strict: true }
      }
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi", { options, tools: [tool] }))))
      assert.strictEqual(failure.reason, "bad_request")
      assert.strictEqual(failure.parameter, "seed")
      const body = mistral.requests[0]?.body
      assert.deepInclude(body, { random_seed: 7, tool_choice: "any" })
      assert.deepNestedInclude(body, { "response_format.type": "json_schema" })
    })
  )
})
