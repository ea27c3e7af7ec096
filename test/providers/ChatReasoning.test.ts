import { assert, describe, it } from "@effect/vitest"
import { Schema, Struct } from "effect"
import type { ModelMessage, ModelPart, ModelRequest, ToolCall } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { type ChatFamilyName, familyDialect, familyOfHost } from "../../src/providers/ChatFamilies.ts"
import type { Dialect } from "../../src/providers/Dialect.ts"
import { encodeChatRequest, openAiChat } from "../../src/providers/OpenAiChat.ts"
import { readableBy } from "../../src/providers/SentMessages.ts"
import { fullDialect } from "./ServerSetup.ts"

const origin = "openai-chat https://models.example/v1 m"

const dialectOf = (family: ChatFamilyName): Dialect => ({
  ...fullDialect,
  ...familyDialect(family)
})

type Fields = Readonly<Record<string, unknown>>

/** The parts read from an answer in deltas, which end with a finish. */
const read = (
  deltas: ReadonlyArray<Fields>,
  reason = "tool_calls",
  beginsThinking = false
): ReadonlyArray<ModelPart> => {
  const reader = new AnswerReader(openAiChat.makeDecode(beginsThinking), origin)
  const chunk = (delta: Fields, finish_reason: string | null = null) =>
    reader.write(
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)
    )
  for (const delta of deltas) chunk(delta)
  chunk({}, reason)
  const usage = { prompt_tokens: 5, completion_tokens: 2 }
  reader.write(Buffer.from(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`))
  reader.end()
  return reader.take()
}

/** The message of a model, as the next round sends it, and the result of its call. */
const messagesOf = (parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelMessage> => {
  const toolCalls = parts.flatMap((part) => (part.type === "tool_call" ? [part.call] : []))
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("")
  const reasoning = parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []))
  return [
    { role: "user", text: "?" },
    { role: "assistant", text, toolCalls, ...(reasoning.length === 0 ? {} : { reasoning }) },
    ...toolCalls.map(({ id, name }): ModelMessage => ({ role: "tool", callId: id, name, text: "5" }))
  ]
}

const tools: ModelRequest["tools"] = [
  { name: "calc", description: "d", parameters: { type: "object" }, param: "tools[0]" }
]

const Sent = Schema.Array(Schema.Record(Schema.String, Schema.Unknown))
const decodeSent = Schema.decodeUnknownSync(Schema.Struct({ messages: Sent }))

const sent = (messages: ReadonlyArray<ModelMessage>, family: ChatFamilyName = "generic") => {
  const request = { messages, maxOutputTokens: 9, tools }
  return decodeSent(JSON.parse(encodeChatRequest("m", request, dialectOf(family)))).messages
}

const calling = (more: Fields = {}): Fields => ({
  tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "calc", arguments: "{}" }, ...more }]
})
const encodedCall = (more: Fields = {}) => ({
  id: "c1",
  type: "function",
  function: { name: "calc", arguments: "{}" },
  ...more
})
const thought = (parts: ReadonlyArray<ModelPart>): string =>
  parts.map((part) => (part.type === "reasoning_text" ? part.text : "")).join("")

describe("what a model thinks, in Chat Completions", () => {
  it.each<readonly [name: string, deltas: ReadonlyArray<Fields>, shown: string, back: Fields]>([
    [
      "reasoning_content",
      [{ reasoning_content: "I a" }, { reasoning_content: "dd." }, calling()],
      "I add.",
      { role: "assistant", content: null, reasoning_content: "I add.", tool_calls: [encodedCall()] }
    ],
    [
      "reasoning, before a text",
      [{ reasoning: "I add.", content: "" }, { content: "Wait." }, calling()],
      "I add.",
      { role: "assistant", content: "Wait.", reasoning: "I add.", tool_calls: [encodedCall()] }
    ],
    [
      "reasoning_details, whose pieces are put together",
      [
        {
          reasoning: "I ",
          reasoning_details: [{ type: "reasoning.text", text: "I ", index: 0, format: "f" }]
        },
        { reasoning: "add.", reasoning_details: [{ type: "reasoning.text", text: "add.", index: 0 }] },
        { reasoning_details: [{ type: "reasoning.text", signature: "s", index: 0 }] },
        { reasoning_details: [{ type: "reasoning.encrypted", data: "x", id: "c1", index: 0 }] },
        calling()
      ],
      "I add.",
      {
        role: "assistant",
        content: null,
        reasoning_details: [
          { type: "reasoning.text", text: "I add.", index: 0, format: "f", signature: "s" },
          { type: "reasoning.encrypted", data: "x", id: "c1", index: 0 }
        ],
        tool_calls: [encodedCall()]
      }
    ],
    [
      "chunks of the content",
      [
        { content: [{ type: "thinking", thinking: [{ type: "text", text: "I add." }] }] },
        { content: [{ type: "text", text: "Wait." }] },
        calling()
      ],
      "I add.",
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "I add." }] },
          { type: "text", text: "Wait." }
        ],
        tool_calls: [encodedCall()]
      }
    ],
    [
      "the signature of a call",
      [calling({ extra_content: { google: { thought_signature: "s" } } })],
      "",
      {
        role: "assistant",
        content: null,
        tool_calls: [encodedCall({ extra_content: { google: { thought_signature: "s" } } })]
      }
    ],
    [
      "tags, of which nothing goes back",
      [{ content: "<think>I a" }, { content: "dd.</th" }, { content: "ink>\n\nWait." }, calling()],
      "I add.",
      { role: "assistant", content: "Wait.", tool_calls: [encodedCall()] }
    ]
  ])("reasoning in Chat Completions goes back as it came: %s", (_, deltas, shown, back) => {
    const parts = read(deltas)
    assert.strictEqual(thought(parts), shown)
    const messages = readableBy(origin, messagesOf(parts))
    assert.deepStrictEqual(sent(messages)[1], back)
  })

  it("reasoning is left out where it came from another server or model", () => {
    const parts = read([{ reasoning_content: "I add." }, calling({ extra_content: { google: { a: 1 } } })])
    const messages = readableBy(`${origin}2`, messagesOf(parts))
    assert.deepStrictEqual(sent(messages)[1], {
      role: "assistant",
      content: null,
      tool_calls: [encodedCall()]
    })
  })

  it("reasoning whose tag is never closed leaves an answer without text", () => {
    const parts = read([{ content: "<think>I a" }, { content: "dd" }], "length")
    assert.deepStrictEqual(
      parts.map(({ type }) => type),
      ["reasoning_text", "reasoning_text", "reasoning", "finish"]
    )
  })

  const own = messagesOf(read([{ reasoning_content: "I add." }, calling()]))
  const unthought = messagesOf(read([calling()]))
  const foreign: ReadonlyArray<ModelMessage> = unthought.map((message) =>
    message.role === "assistant"
      ? { ...message, toolCalls: message.toolCalls.map((call): ToolCall => Struct.omit(call, ["opaque"])) }
      : message
  )

  it.each<readonly [ChatFamilyName, own: Fields, unthought: Fields, foreign: Fields]>([
    ["generic", { reasoning_content: "I add." }, {}, {}],
    ["deepseek", { reasoning_content: "I add." }, { reasoning_content: "" }, { reasoning_content: "" }],
    ["groq", {}, {}, {}]
  ])("reasoning goes back in the form that a server of %s demands", (family, ...expected) => {
    const encoded = [own, unthought, foreign].map((messages) => sent(messages, family)[1])
    assert.deepStrictEqual(
      encoded,
      expected.map((more) => ({ role: "assistant", content: null, ...more, tool_calls: [encodedCall()] }))
    )
  })

  it("a round without reasoning goes back as text if the server demands reasoning", () => {
    const asText = [
      { role: "user", content: "?" },
      { role: "assistant", content: "[called calc with {}]" },
      { role: "user", content: "[result of calc]\n5" }
    ]
    assert.deepStrictEqual(sent(foreign, "moonshot"), asText)
    assert.deepStrictEqual(sent(unthought, "moonshot"), asText)
    assert.deepInclude(sent(own, "moonshot")[1], { reasoning_content: "I add." })
  })

  it("reasoning goes as text for one request where the server refuses it", () => {
    const request = { messages: own, maxOutputTokens: 9, tools }
    const said = [
      "Function call is missing a thought_signature in functionCall parts.",
      "The `reasoning_content` in the thinking mode must be passed back to the API.",
      "property 'reasoning_content' is unsupported",
      "AnthropicException - messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    ]
    for (const complaint of said) {
      const dialect = openAiChat.adapt(fullDialect, complaint, request)
      assert.deepStrictEqual(dialect, { ...fullDialect, thoughts: false })
      const encoded = encodeChatRequest("m", request, dialect ?? fullDialect)
      assert.deepStrictEqual(decodeSent(JSON.parse(encoded)).messages[1], {
        role: "assistant",
        content: "[called calc with {}]"
      })
      assert.isNull(openAiChat.adapt(dialect ?? fullDialect, complaint, request))
    }
  })

  it("a text and the calls behind it are one message, also where they come from two turns", () => {
    const thought = { text: "Hm.", opaque: { origin, data: JSON.stringify({ field: "reasoning_content" }) } }
    const made = { id: "c1", name: "calc", arguments: "{}", opaque: { origin, data: "" } }
    const messages: ReadonlyArray<ModelMessage> = [
      { role: "user", text: "?" },
      { role: "assistant", text: "Let me look.", toolCalls: [], reasoning: [thought] },
      { role: "assistant", text: "", toolCalls: [made] },
      { role: "tool", callId: "c1", name: "calc", text: "5" }
    ]
    const encoded = sent(messages, "moonshot")
    assert.deepStrictEqual(
      encoded.map(({ role }) => role),
      ["user", "assistant", "tool"]
    )
    assert.deepInclude(encoded[1], { content: "Let me look.", reasoning_content: "Hm." })
    assert.isDefined(encoded[1]?.["tool_calls"])
  })

  it("assumed reasoning isn't shown as the answer if calls or a refusal follow", () => {
    const tool_calls = [{ index: 0, id: "c1", function: { name: "calc", arguments: "{}" } }]
    for (const delta of [{ tool_calls }, { refusal: "No." }]) {
      const parts = read([{ content: "I should" }, delta], "stop", true)
      assert.deepStrictEqual(
        parts.flatMap((part) => (part.type === "text" && part.isRefusal !== true ? [part.text] : [])),
        []
      )
      assert.isTrue(parts.some((part) => part.type === "reasoning" && part.reasoning.text === "I should"))
    }
    const answered = read([{ content: "Yes." }], "stop", true)
    assert.deepStrictEqual(
      answered.flatMap((part) => (part.type === "text" ? [part.text] : [])),
      ["Yes."]
    )
  })

  it("a call of another model gets a replacement for the signature", () => {
    const [, message] = sent(foreign, "gemini")
    assert.deepStrictEqual(message?.["tool_calls"], [
      encodedCall({ extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } })
    ])
    assert.deepStrictEqual(sent(unthought, "gemini")[1]?.["tool_calls"], message?.["tool_calls"])
  })

  it.each([
    ["api.deepseek.com", "always"],
    ["api.moonshot.cn", "demanded"],
    ["api.groq.com", "never"],
    ["deepseek.com.example", "returned"],
    ["127.0.0.1", "returned"]
  ])("the address %s tells that it is %s", (host, manner) => {
    assert.strictEqual(familyDialect(familyOfHost(host)).reasoning, manner)
  })
})
