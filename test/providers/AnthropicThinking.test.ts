import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ModelMessage, ModelPart, Reasoning } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { makeDecodeAnthropic } from "../../src/providers/AnthropicAnswer.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { frames, fullDialect, request } from "./ServerSetup.ts"
import { wholeParts } from "./wholeParts.ts"

/** The origin of opaque values. */
const origin = "a server"

type Block = Readonly<Record<string, unknown>>

const thinkingBlock = (thinking: string, signature = "c2lnbmVk"): Block => ({
  type: "thinking",
  thinking,
  signature
})
const redactedBlock = (data: string): Block => ({ type: "redacted_thinking", data })
const textBlock = (text: string): Block => ({ type: "text", text })
const callBlock = (id: string, input: object = {}): Block => ({ type: "tool_use", id, name: "calc", input })

const usage = {
  input_tokens: 5,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 3,
  output_tokens: 40,
  output_tokens_details: { thinking_tokens: 30 }
}

const pieces = (text: string, size: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))

/** The beginning of a block, and the deltas that complete it. */
const begun = (block: Block, size: number): readonly [Block, ReadonlyArray<Block>] => {
  const cut = (field: string) => pieces(String(block[field]), size)
  switch (block["type"]) {
    case "thinking":
      return [
        { ...block, thinking: "", signature: "" },
        [
          ...cut("thinking").map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block["signature"] }
        ]
      ]
    case "text":
      return [{ ...block, text: "" }, cut("text").map((text) => ({ type: "text_delta", text }))]
    case "tool_use":
      return [
        { ...block, input: {} },
        ["", ...pieces(JSON.stringify(block["input"]), size)].map((partial_json) => ({
          type: "input_json_delta",
          partial_json
        }))
      ]
    default:
      return [block, []]
  }
}

const reasonOf = (content: ReadonlyArray<Block>) =>
  content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn"

/** The events in which the server sends a content. */
const streamOf = (content: ReadonlyArray<Block>, size = 7): string =>
  frames(
    {
      type: "message_start",
      message: { type: "message", content: [], usage: { ...usage, output_tokens: 1 } }
    },
    { type: "ping" },
    ...content.flatMap((block, index) => {
      const [content_block, deltas] = begun(block, size)
      return [
        { type: "content_block_start", index, content_block },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index }
      ]
    }),
    { type: "message_delta", delta: { stop_reason: reasonOf(content), stop_sequence: null }, usage },
    { type: "message_stop" }
  )

const documentOf = (content: ReadonlyArray<Block>): string =>
  JSON.stringify({ type: "message", role: "assistant", content, stop_reason: reasonOf(content), usage })

const read = (body: string): ReadonlyArray<ModelPart> => {
  const reader = new AnswerReader(makeDecodeAnthropic(), origin)
  reader.write(Buffer.from(body))
  reader.end()
  assert.isNull(reader.fault)
  return reader.take()
}

const reasoning = (block: Block): Reasoning => ({
  text: String(block["thinking"] ?? ""),
  opaque: { origin, data: JSON.stringify(block) }
})
const thought = (block: Block): ModelPart => ({ type: "reasoning", reasoning: reasoning(block) })
const call = (id: string, ...before: ReadonlyArray<Block>): ModelPart => ({
  type: "tool_call",
  call: {
    id,
    name: "calc",
    arguments: "{}",
    opaque: { origin, data: "", callId: id },
    ...(before.length === 0 ? {} : { reasoning: before.map(reasoning) })
  }
})
const finish: ModelPart = {
  type: "finish",
  reason: "tool_calls",
  usage: {
    inputTokens: 10,
    cachedInputTokens: 3,
    cacheWriteInputTokens: 2,
    outputTokens: 40,
    reasoningTokens: 30,
    source: "provider"
  }
}

/** Without the pieces in which texts come. */
const whole = (parts: ReadonlyArray<ModelPart>) =>
  wholeParts(parts).filter(({ type }) => type !== "reasoning_text")

/** The answer as the message that the next request has of it. */
const messageOf = (parts: ReadonlyArray<ModelPart>): ModelMessage => ({
  role: "assistant",
  text: parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
  toolCalls: parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : [])),
  reasoning: parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []))
})

const decodeBody = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      messages: Schema.Array(
        Schema.Struct({ content: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) })
      )
    })
  )
)

const tools = [{ name: "calc", description: "Calculates.", parameters: { type: "object" } }]

/** The content of the answer in the next request. */
const sentBack = (answer: ModelMessage, model: string): ReadonlyArray<Block> => {
  const calls = answer.role === "assistant" ? answer.toolCalls : []
  const messages: ReadonlyArray<ModelMessage> = [
    { role: "user", text: "?" },
    answer,
    ...calls.map(({ id, name }): ModelMessage => ({ role: "tool", callId: id, name, text: "2" })),
    { role: "user", text: "And?" }
  ]
  const body = decodeBody(encodeAnthropicRequest(model, request("", { messages, tools }), fullDialect))
  return body.messages[1]?.content ?? []
}

const mixed = [
  thinkingBlock("First, 1+1."),
  redactedBlock("ZW5jcnlwdGVk"),
  textBlock("Let me see."),
  thinkingBlock("", "b25seSBzaWduZWQ="),
  callBlock("c1"),
  redactedBlock("bW9yZQ=="),
  thinkingBlock("Then 2+2."),
  callBlock("c2"),
  callBlock("c3")
]

describe("AnthropicMessages, what Claude thinks", () => {
  it("thinking blocks keep their order, streamed or whole, and all of what came", () => {
    const [first, redacted, , unseen, , more, then] = mixed.map((block) => block)
    if (!first || !redacted || !unseen || !more || !then) return assert.fail("a block is missing")
    const expected = [
      thought(first),
      thought(redacted),
      { type: "text", text: "Let me see." },
      call("c1", unseen),
      call("c2", more, then),
      call("c3"),
      finish
    ]
    assert.deepStrictEqual(whole(read(streamOf(mixed, 100))), expected as never)
    assert.deepStrictEqual(whole(read(documentOf(mixed))), expected as never)
  })

  it("the pieces of a thinking block are shown as they come", () => {
    const parts = read(streamOf([thinkingBlock("Two sums."), textBlock("4")], 4))
    assert.deepStrictEqual(
      parts.flatMap((part) => (part.type === "reasoning_text" ? [part.text] : [])),
      ["Two ", "sums", "."]
    )
    assert.deepStrictEqual(parts[3], thought(thinkingBlock("Two sums.")))
  })

  it("a thinking block with neither text nor signature is no part", () => {
    const empty = thinkingBlock("", "")
    assert.deepStrictEqual(
      read(streamOf([empty, textBlock("4")])).filter(
        (part) => part.type === "reasoning" && part.reasoning.opaque !== null
      ),
      []
    )
    assert.deepStrictEqual(
      sentBack(messageOf(read(documentOf([empty, textBlock("4")]))), "claude-opus-5-5"),
      [textBlock("4")]
    )
  })

  it("blocks and deltas of unknown types are ignored, as are their ends", () => {
    const delta = (index: number, fields: Block) => ({ type: "content_block_delta", index, delta: fields })
    const body = frames(
      { type: "message_start", message: { usage } },
      { type: "content_block_start", index: 0, content_block: { type: "hologram", light: 1 } },
      delta(0, { type: "hologram_delta", light: 2 }),
      delta(0, { type: "signature_delta", signature: "x" }),
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "thinking", thinking: "", signature: "" }
      },
      delta(1, { type: "estimate_delta", tokens: 50 }),
      delta(1, { type: "thinking_delta", thinking: "Hm." }),
      delta(1, { type: "signature_delta", signature: "s" }),
      { type: "content_block_stop", index: 1 },
      { type: "content_block_stop", index: 7 },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
      { type: "message_stop" }
    )
    assert.deepStrictEqual(whole(read(body)), [
      thought(thinkingBlock("Hm.", "s")),
      { ...finish, reason: "stop" } as ModelPart
    ])
  })

  it.each([
    [{ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: 7 } }],
    [{ type: "content_block_start", content_block: { type: "redacted_thinking", data: "x" } }],
    [{ type: "content_block_delta", index: 0, delta: { type: "thinking_delta" } }]
  ])("the thinking event %j is malformed", (event) => {
    const reader = new AnswerReader(makeDecodeAnthropic(), origin)
    reader.write(Buffer.from(frames(event)))
    assert.strictEqual(reader.fault?._tag, "AnswerMalformed")
  })

  it("a thinking block without a signature goes back to servers that aren't Anthropic's only", () => {
    const answer = messageOf(read(streamOf([thinkingBlock("Hm.", ""), textBlock("4")])))
    assert.deepStrictEqual(sentBack(answer, "claude-opus-5-5"), [textBlock("4")])
    assert.deepStrictEqual(sentBack(answer, "kimi-k3"), [thinkingBlock("Hm.", ""), textBlock("4")])
  })

  const Thought = Schema.Union([
    Schema.Struct({
      type: Schema.Literal("thinking"),
      thinking: Schema.String,
      signature: Schema.NonEmptyString
    }),
    Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String })
  ])
  const Thoughts = Schema.Array(Thought).check(Schema.isMaxLength(2))

  it.prop(
    "an answer goes back with the blocks that came, in their order",
    {
      first: Thoughts,
      said: Schema.Literals(["", "Wait.", "😀é – 日本", ' {"a": 1}\n']),
      calls: Schema.Array(
        Schema.Struct({
          before: Thoughts,
          input: Schema.Record(Schema.Literals(["a", "b", "ü"]), Schema.Union([Schema.String, Schema.Int]))
        })
      ).check(Schema.isMaxLength(3)),
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })),
      isWhole: Schema.Boolean
    },
    ({ calls, first, isWhole, said, size }) => {
      const content: ReadonlyArray<Block> = [
        ...first,
        ...(said === "" && calls.length > 0 ? [] : [textBlock(said || "Done.")]),
        ...calls.flatMap(({ before, input }, at) => [...before, callBlock(`toolu_${at}`, input)])
      ]
      const parts = read(isWhole ? documentOf(content) : streamOf(content, size))
      const back = sentBack(messageOf(parts), "claude-sonnet-5-5")
      assert.strictEqual(JSON.stringify(back), JSON.stringify(content))
    },
    { arbitrary: { runs: 300 } }
  )
})
