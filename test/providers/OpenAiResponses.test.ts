import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { ModelMessage } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { openAiResponses } from "../../src/providers/OpenAiResponses.ts"
import { callOnce, frames, model, request, secretKey, serverAt, setUpFor, textOf } from "./ServerSetup.ts"

/** The origin of opaque values. */
const origin = "a server"

const setUp = setUpFor("openai-responses")

const conversation: ReadonlyArray<ModelMessage> = [
  { role: "system", text: "Be brief." },
  { role: "user", text: "1+1?" },
  { role: "assistant", text: "", toolCalls: [{ id: "c1", name: "calc", arguments: `{"e":"1+1"}` }] },
  { role: "tool", callId: "c1", name: "calc", text: "2" },
  { role: "assistant", text: "2", toolCalls: [] }
]
const tools = [{ name: "calc", description: "Calculates.", parameters: { type: "object" } }]

const read = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
  const reader = new AnswerReader(openAiResponses.makeDecode(), origin)
  reader.write(Buffer.from(frames(...events)))
  reader.end()
  return { parts: reader.take(), fault: reader.fault }
}

const completed = { type: "response.completed", response: { status: "completed", usage: null } }

describe("OpenAiResponses, the request", () => {
  it.effect("a Responses request asks for a bounded stream that isn't kept, with the key", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      yield* Stream.runDrain(call(request("hi")))
      const { body, headers, path } = yield* server.request(0)
      assert.strictEqual(path, "/v1/responses")
      assert.strictEqual(headers.authorization, `Bearer ${secretKey}`)
      assert.deepStrictEqual(body, {
        model: "mock-model",
        input: [{ role: "user", content: "hi" }],
        stream: true,
        store: false,
        max_output_tokens: 50
      })
    })
  )

  it.effect("a Responses request maps every kind of message, and the tools", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      yield* Stream.runDrain(call(request("", { messages: conversation, tools })))
      const { body } = yield* server.request(0)
      assert.strictEqual(body["instructions"], "Be brief.")
      assert.deepStrictEqual(body["input"], [
        { role: "user", content: "1+1?" },
        { type: "function_call", call_id: "c1", name: "calc", arguments: `{"e":"1+1"}` },
        { type: "function_call_output", call_id: "c1", output: "2" },
        { role: "assistant", content: "2" }
      ])
      assert.deepStrictEqual(body["tools"], [
        {
          type: "function",
          name: "calc",
          description: "Calculates.",
          parameters: { type: "object" },
          strict: false
        }
      ])
    })
  )

  it.effect(
    "a Responses request has at least the tokens that OpenAI accepts, and a later system message in its place",
    () =>
      Effect.gen(function* () {
        const { call, server } = yield* setUp
        const messages: ReadonlyArray<ModelMessage> = [
          { role: "user", text: "a" },
          { role: "system", text: "b" }
        ]
        yield* Stream.runDrain(call(request("", { messages, maxOutputTokens: 3 })))
        const { body } = yield* server.request(0)
        assert.strictEqual(body["max_output_tokens"], 16)
        assert.notProperty(body, "instructions")
        assert.deepStrictEqual(body["input"], [
          { role: "user", content: "a" },
          { role: "system", content: "b" }
        ])
      })
  )

  it.effect("a Responses request describes earlier calls to a model without tools in words", () =>
    Effect.gen(function* () {
      const { call, server, upstream } = yield* setUp
      const told = [
        { role: "user", content: "1+1?" },
        { role: "assistant", content: `[called calc with {"e":"1+1"}]` },
        { role: "user", content: "[result of calc]\n2" },
        { role: "assistant", content: "2" }
      ]
      const without = (yield* callOnce(upstream, serverAt(server.url, "openai-responses")))({
        ...model,
        tools: false
      })
      yield* Stream.runDrain(without(request("", { messages: conversation, tools })))
      const errorBody = JSON.stringify({ error: { message: "tools are not supported by this model" } })
      yield* server.script({ refusesField: "tools", errorBody })
      const parts = yield* Stream.runCollect(call(request("", { messages: conversation, tools })))
      assert.strictEqual(textOf(parts), "Hello, world.")
      for (const index of [0, 2]) {
        const { body } = yield* server.request(index)
        assert.deepStrictEqual(body["input"], told)
        assert.notProperty(body, "tools")
      }
    })
  )
})

describe("OpenAiResponses, the answer", () => {
  const item = { type: "function_call", id: "fc_1", call_id: "c1", name: "calc" }
  const added = { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } }

  it("an answer of Responses may have arguments only at the end", () => {
    const done = { type: "response.output_item.done", output_index: 0, item: { ...item, arguments: "[1]" } }
    for (const events of [[added, done], [done]]) {
      assert.deepStrictEqual(read(...events, completed).parts, [
        {
          type: "tool_call",
          call: { id: "c1", name: "calc", arguments: "[1]", opaque: { origin, data: "", callId: "c1" } }
        }
      ])
    }
  })

  it("an answer of Responses has a refusal as text, and unknown events are passed over", () => {
    const refusal = { type: "response.refusal.delta", delta: "No." }
    assert.strictEqual(textOf(read({ type: "response.new_thing" }, refusal, completed).parts), "No.")
  })

  it.each([
    [{ type: "response.output_text.delta", delta: 1 }],
    [{ type: "response.function_call_arguments.delta", output_index: 0 }],
    [{ type: "response.output_item.added", output_index: 0, item: { type: "function_call" } }],
    [{ type: "response.completed" }]
  ])("the event of Responses %j is malformed", (event) => {
    assert.strictEqual(read(event).fault?._tag, "AnswerMalformed")
  })
})
