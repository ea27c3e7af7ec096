import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { FinishReason, ModelMessage } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { anthropicMessages } from "../../src/providers/AnthropicMessages.ts"
import { frames, request, secretKey, setUpFor } from "./ServerSetup.ts"

/** Of opaque values. */
const origin = "a server"

const setUp = setUpFor("anthropic")

const tools = [{ name: "calc", description: "Calculates.", parameters: { type: "object" } }]

const sent = (messages: ReadonlyArray<ModelMessage>, offered = tools) =>
  Effect.gen(function* () {
    const { call, server } = yield* setUp
    yield* Stream.runDrain(call(request("", { messages, tools: offered })))
    return (yield* server.request(0)).body
  })

const textBlock = (text: string) => ({ type: "text", text })

const conversation: ReadonlyArray<ModelMessage> = [
  { role: "system", text: "Be brief." },
  { role: "user", text: "1+1 and 2+2?" },
  {
    role: "assistant",
    text: "Wait.",
    toolCalls: [
      { id: "c.1", name: "calc", arguments: `{"e":"1+1"}` },
      { id: "c2", name: "calc", arguments: "nonsense" }
    ]
  },
  { role: "tool", callId: "c.1", name: "calc", text: "2" },
  { role: "tool", callId: "c2", name: "calc", text: "no" },
  { role: "user", text: "And?" }
]

describe("AnthropicMessages, the request", () => {
  it.effect("asks for a stream, bounded, with the key and the version of the format", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp
      yield* Stream.runDrain(call(request("hi")))
      const { body, headers, path } = yield* server.request(0)
      assert.strictEqual(path, "/v1/messages")
      assert.strictEqual(headers["x-api-key"], secretKey)
      assert.strictEqual(headers["anthropic-version"], "2023-06-01")
      assert.notProperty(headers, "authorization")
      assert.deepStrictEqual(body, {
        model: "mock-model",
        max_tokens: 50,
        messages: [{ role: "user", content: [textBlock("hi")] }],
        stream: true
      })
    })
  )

  it.effect(
    "maps every kind of message, and the tools; the results of an answer's calls are one message",
    () =>
      Effect.gen(function* () {
        const body = yield* sent(conversation)
        assert.strictEqual(body["system"], "Be brief.")
        assert.deepStrictEqual(body["messages"], [
          { role: "user", content: [textBlock("1+1 and 2+2?")] },
          {
            role: "assistant",
            content: [
              textBlock("Wait."),
              { type: "tool_use", id: "c_1", name: "calc", input: { e: "1+1" } },
              { type: "tool_use", id: "c2", name: "calc", input: {} }
            ]
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "c_1", content: "2" },
              { type: "tool_result", tool_use_id: "c2", content: "no" },
              textBlock("And?")
            ]
          }
        ])
        assert.deepStrictEqual(body["tools"], [
          { name: "calc", description: "Calculates.", input_schema: { type: "object" } }
        ])
      })
  )

  it.effect("tells of earlier calls where no tools are offered, because it refuses them then", () =>
    Effect.gen(function* () {
      const body = yield* sent(conversation, [])
      assert.notProperty(body, "tools")
      assert.deepStrictEqual(body["messages"], [
        { role: "user", content: [textBlock("1+1 and 2+2?")] },
        {
          role: "assistant",
          content: [textBlock(`Wait.\n[called calc with {"e":"1+1"}]\n[called calc with nonsense]`)]
        },
        {
          role: "user",
          content: [textBlock("[result of calc]\n2"), textBlock("[result of calc]\nno"), textBlock("And?")]
        }
      ])
    })
  )

  it.effect("lets the user begin, and sends no empty text", () =>
    Effect.gen(function* () {
      const body = yield* sent([
        { role: "assistant", text: "Hello.", toolCalls: [] },
        { role: "user", text: " " },
        { role: "user", text: "hi" }
      ])
      assert.deepStrictEqual(body["messages"], [
        { role: "user", content: [textBlock("[The beginning of the conversation is left out.]")] },
        { role: "assistant", content: [textBlock("Hello.")] },
        { role: "user", content: [textBlock("hi")] }
      ])
    })
  )
})

const read = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
  const reader = new AnswerReader(anthropicMessages.makeDecode(), origin)
  reader.write(Buffer.from(frames(...events)))
  reader.end()
  return { parts: reader.take(), fault: reader.fault, state: reader.state }
}

const start = (usage: unknown) => ({ type: "message_start", message: { usage } })
const end = (stop_reason: unknown, usage: unknown = null) => ({
  type: "message_delta",
  delta: { stop_reason },
  usage
})
const stop = { type: "message_stop" }

describe("AnthropicMessages, the answer", () => {
  it.each<readonly [string, FinishReason]>([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["something_new", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "content_filter"]
  ])("%s is %s", (reason, expected) => {
    const { parts } = read(start({ input_tokens: 1 }), end(reason, { output_tokens: 1 }), stop)
    assert.strictEqual(parts[0]?.type === "finish" && parts[0].reason, expected)
  })

  it("has no usage where the counts of the beginning are missing", () => {
    assert.strictEqual(read(start(null), end("end_turn", { output_tokens: 2 }), stop).state, "uncounted")
  })

  it("has no usage where the count of the output ends with its beginning", () => {
    assert.strictEqual(
      read(start({ input_tokens: 9, output_tokens: 1 }), end("end_turn"), stop).state,
      "uncounted"
    )
  })

  it("leaves the calls of the server's own tools to the server", () => {
    const { parts } = read(
      start({ input_tokens: 1 }),
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "s", name: "x" }
      },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      end("end_turn", { output_tokens: 1 }),
      stop
    )
    assert.deepStrictEqual(
      parts.map((part) => part.type),
      ["finish"]
    )
  })

  it.each([
    [{ type: "content_block_delta", index: 0 }],
    [{ type: "content_block_delta", index: 0, delta: { type: "text_delta" } }],
    [{ type: "content_block_start", index: 0, content_block: { type: "tool_use" } }],
    [{ type: "message_start" }],
    [end(7)]
  ])("%j is malformed", (event) => {
    assert.strictEqual(read(event).fault?._tag, "AnswerMalformed")
  })
})
