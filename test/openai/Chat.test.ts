import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { failure, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { chunksIn, foldChunks } from "./chatChunks.ts"

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/chat/completions`, { key: alice.key, body })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatCompletion))

const hello = [{ role: "user", content: "Hi" }]

/** A model that calls these functions. */
const calls = (...names: ReadonlyArray<string>) =>
  Stream.fromIterable<ModelPart>([
    ...names.map((name, index): ModelPart => ({
      type: "tool_call",
      call: { id: `provider_${index}`, name, arguments: `{"city":"Bonn"}` }
    })),
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

const weather = {
  type: "function",
  function: { name: "weather", description: "The weather.", parameters: { type: "object" }, strict: true }
}

layer(TestApp.layer(), { excludeTestServices: true })("POST /openai/v1/chat/completions", (it) => {
  it.effect("a chat completion is one document unless a stream is asked for", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " world"))
      const reply = yield* post({ model: "auto", messages: hello, metadata: { a: "b" } })
      assert.strictEqual(reply.status, 200)
      const completion = yield* decode(reply.text)
      assert.match(completion.id, /^chatcmpl-[0-9a-f-]{36}$/)
      assert.strictEqual(completion.choices[0]?.message.content, "Hello world")
      assert.strictEqual(completion.choices[0]?.finish_reason, "stop")
      assert.deepStrictEqual(
        [completion.usage.prompt_tokens, completion.usage.completion_tokens, completion.usage.total_tokens],
        [11, 7, 18]
      )
      assert.deepStrictEqual(completion.metadata, { a: "b" })
    })
  )

  it.effect("a chat completion streams chunks without names, with the usage at the end on request", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hel", "lo"), says("Hello"))
      const reply = yield* post({ messages: hello, stream: true, stream_options: { include_usage: true } })
      assert.strictEqual(reply.headers.get("content-type"), "text/event-stream")
      assert.notInclude(reply.text, "event:")
      const { content, finish, usage } = foldChunks(chunksIn(reply.text))
      assert.deepStrictEqual([content, finish, usage?.total_tokens], ["Hello", "stop", 18])
      const plain = foldChunks(chunksIn((yield* post({ messages: hello, stream: true })).text))
      assert.deepStrictEqual([plain.content, plain.usage], ["Hello", null])
    })
  )

  it.effect("a chat completion gives the model the whole chat, calls and results included", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(says("It rains."))
      const called = (id: string) => ({
        id,
        type: "function",
        function: { name: "weather", arguments: "{}" }
      })
      const reply = yield* post({
        messages: [
          { role: "system", content: "Be kind." },
          { role: "developer", content: [{ type: "text", text: "Be short." }] },
          { role: "user", content: [{ type: "text", text: "Weather?" }], name: "ada" },
          { role: "assistant", content: "I look.", tool_calls: [called("call_a"), called("call_b")] },
          { role: "tool", tool_call_id: "call_b", content: "rain" },
          { role: "tool", tool_call_id: "call_a", content: [{ type: "text", text: "sun" }] },
          { role: "assistant", content: [{ type: "text", text: "Both." }] },
          { role: "user", content: "And now?" }
        ],
        tools: [weather]
      })
      assert.strictEqual(reply.status, 200, reply.text)
      const { messages, tools } = (yield* model.asked).at(-1)!.request
      assert.include(
        messages.flatMap((message) => (message.role === "system" ? [message.text] : [])).join("\n"),
        "Be kind."
      )
      assert.deepStrictEqual(
        messages.filter(({ role }) => role !== "system").map(({ role, text: said }) => [role, said]),
        [
          ["user", "Weather?"],
          ["assistant", "I look."],
          ["tool", "sun"],
          ["tool", "rain"],
          ["assistant", "Both."],
          ["user", "And now?"]
        ]
      )
      assert.isTrue(tools.some(({ name, strict }) => name === "weather" && strict === true))
    })
  )

  it.effect("a chat completion ends with the calls of the client's functions, streamed and whole", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calls("weather", "weather"), calls("weather"))
      const body = { messages: hello, tools: [weather], tool_choice: "required", parallel_tool_calls: true }
      const streamed = foldChunks(chunksIn((yield* post({ ...body, stream: true })).text))
      assert.deepStrictEqual([streamed.content, streamed.finish], [null, "tool_calls"])
      assert.deepStrictEqual(
        streamed.calls.map((called) => called.type === "function" && called.function),
        [0, 1].map(() => ({ name: "weather", arguments: `{"city":"Bonn"}` }))
      )
      assert.strictEqual(new Set(streamed.calls.map(({ id }) => id)).size, 2)
      const { options, tools } = (yield* model.asked).at(-1)!.request
      assert.strictEqual(options?.toolChoice, "required")
      // A client that demands a call waits for one of its own.
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["weather"]
      )
      const whole = yield* decode((yield* post(body)).text)
      assert.strictEqual(whole.choices[0]?.finish_reason, "tool_calls")
      assert.isNull(whole.choices[0]?.message.content)
      assert.strictEqual(whole.choices[0]?.message.tool_calls?.length, 1)
    })
  )

  it.effect("a chat completion runs the service's own tools, and shows only the texts around them", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(
        Stream.fromIterable<ModelPart>([
          text("Let me count."),
          {
            type: "tool_call",
            call: { id: "c", name: "calculator", arguments: `{"expression":"6*7"}` }
          },
          { type: "finish", reason: "tool_calls", usage: scriptedUsage }
        ]),
        says("It is 42.")
      )
      const reply = yield* post({ messages: hello })
      const { choices } = yield* decode(reply.text)
      assert.strictEqual(choices[0]?.message.content, "Let me count.\n\nIt is 42.")
      assert.strictEqual(choices[0]?.finish_reason, "stop")
      assert.notProperty(choices[0]?.message, "tool_calls")
    })
  )

  it.effect("a chat completion gives the model the parameters of the answer", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says(`{"a":1}`))
      const schema = { type: "object", properties: { a: { type: "integer" } } }
      const reply = yield* post({
        messages: hello,
        temperature: 0.5,
        top_p: 0.9,
        stop: "END",
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: -0.1,
        max_tokens: 30,
        max_completion_tokens: 20,
        reasoning_effort: "low",
        verbosity: "high",
        n: 1,
        logprobs: false,
        response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } }
      })
      assert.strictEqual(reply.status, 200, reply.text)
      const { maxOutputTokens, options } = (yield* model.asked).at(-1)!.request
      assert.strictEqual(maxOutputTokens, 20)
      assert.deepStrictEqual(options, {
        temperature: 0.5,
        topP: 0.9,
        presencePenalty: 0.1,
        frequencyPenalty: -0.1,
        reasoningEffort: "low",
        verbosity: "high",
        format: { type: "json_schema", name: "answer", description: null, schema, strict: true },
        seed: 7,
        stop: ["END"]
      })
    })
  )

  it.effect("a chat completion says `length` of an answer that was cut", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(
        Stream.fromIterable<ModelPart>([
          text("Hel"),
          { type: "finish", reason: "length", usage: scriptedUsage }
        ])
      )
      const { choices } = yield* decode((yield* post({ messages: hello })).text)
      assert.strictEqual(choices[0]?.finish_reason, "length")
    })
  )

  it.effect("a chat completion stores nothing unless it is asked to", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const model = yield* ScriptedModel
      const count = Effect.map(
        sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM turns`,
        ([row]) => row?.count ?? -1
      )
      const before = yield* count
      yield* model.next(says("one"), says("two"))
      const plain = yield* post({ messages: hello })
      assert.isNull(plain.headers.get("x-conversation-id"))
      assert.strictEqual(yield* count, before)
      const stored = yield* post({ messages: hello, store: true })
      assert.match(stored.headers.get("x-conversation-id") ?? "", /^conv_/)
      assert.strictEqual(yield* count, before + 1)
    })
  )

  it.effect("a chat completion ends a stream that fails with a line that has the error", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const reply = yield* post({ messages: hello, stream: true })
      const lines = reply.text.split("\n\n").filter((line) => line !== "")
      assert.strictEqual(lines.at(-1), "data: [DONE]")
      assert.match(lines.at(-2) ?? "", /^data: \{"error":\{"message":".+","type":"server_error","code":"gen/)
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["messages", { messages: [] }],
    ["messages", { messages: [{ role: "system", content: "" }] }],
    ["messages[0]", { messages: [{ role: "nobody", content: "Hi" }] }],
    ["messages[0].content", { messages: [{ role: "user" }] }],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [{ type: "input_audio" }] }] }],
    ["messages[1].tool_call_id", { messages: [...hello, { role: "tool", tool_call_id: "x", content: "" }] }],
    [
      "messages[0].content[0].file_id",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "file", file: { file_id: "file-019845e1-682f-4b02-a706-3b2422d13aec" } }]
          }
        ]
      }
    ],
    ["logprobs", { logprobs: 3 }],
    ["top_logprobs", { top_logprobs: 3 }],
    ["top_logprobs", { logprobs: true, top_logprobs: 21 }],
    ["logit_bias", { logit_bias: { 50256: -100 } }],
    ["function_call", { function_call: "auto" }],
    ["tools[0]", { tools: [{ type: "web_search" }] }],
    ["tools[0].custom.name", { tools: [{ type: "custom", custom: { name: "no name" } }] }],
    [
      "tools[0].custom.format",
      { tools: [{ type: "custom", custom: { name: "x", format: { type: "grammar", syntax: "lark" } } }] }
    ],
    ["tools[0].function.name", { tools: [{ type: "function", function: {} }] }],
    ["tool_choice", { tool_choice: { type: "function", function: { name: "weather" } } }],
    ["response_format", { response_format: { type: "grammar" } }],
    ["modalities", { modalities: ["audio"] }],
    ["stop", { stop: ["1", "2", "3", "4", "5"] }],
    ["max_tokens", { max_tokens: 0 }]
  ]
  for (const [field, body] of refused) {
    it.effect(`a chat completion refuses ${JSON.stringify(body).slice(0, 90)} and names ${field}`, () =>
      Effect.gen(function* () {
        const { message, param } = errorOf(yield* post({ messages: hello, ...body }), 400)
        assert.isTrue(param?.startsWith(field), `${param}: ${message}`)
      })
    )
  }

  it.effect("a chat completion takes an unknown service tier for a hint, and names it", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({ messages: hello, service_tier: "priority", n: 1, logprobs: false })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "service_tier")
    })
  )

  it.effect("a chat completion names unknown fields, needs a key, and finds the named model", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const reply = yield* post({ messages: hello, model: "scripted-2", wishes: 1 })
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "wishes")
      assert.strictEqual((yield* decode(reply.text)).model, "scripted-2")
      errorOf(yield* call(`${url}/openai/v1/chat/completions`, { body: { messages: hello } }), 401)
      assert.strictEqual(
        errorOf(yield* post({ messages: hello, model: "gpt-x" }), 404).code,
        "model_not_found"
      )
    })
  )

  it.effect("a chat completion says what a message may be where none of its kinds is meant", () =>
    Effect.gen(function* () {
      const { message } = errorOf(yield* post({ messages: [{ role: "robot", content: "x" }] }), 400)
      assert.include(message, "system, developer, user, assistant, tool or function")
      const biased = errorOf(yield* post({ messages: hello, logit_bias: { 5: 1 } }), 400)
      assert.include(biased.message, "tokens can't be made likelier")
    })
  )

  it.effect("a chat completion names its own fields where the core has other names for them", () =>
    Effect.gen(function* () {
      const schema = { type: "object", properties: { a: { $ref: "#/none" } } }
      const format = { type: "json_schema", json_schema: { name: "x", schema } }
      const refused = errorOf(yield* post({ messages: hello, response_format: format }), 400)
      assert.strictEqual(refused.param, "response_format.json_schema.schema")
      assert.include(refused.message, "`response_format.json_schema.schema`")
      const missing = errorOf(yield* post({ input: "Hello" }), 400)
      assert.strictEqual(missing.param, "messages")
      assert.include(missing.message, "POST /openai/v1/responses")
    })
  )
})
