import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import type { ModelMessage, ModelRequest, Reasoning, ToolCall } from "../../src/domain/ModelCall.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import type { Dialect } from "../../src/providers/Dialect.ts"
import { originOf } from "../../src/providers/ModelServer.ts"
import { callOnce, fullDialect, model, request, secretKey, serverAt, setUpFor } from "./ServerSetup.ts"

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
  it.effect("a request to Anthropic asks for a bounded stream, with the key and the version", () =>
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
    "a request to Anthropic maps every kind of message, and the tools; the results of an answer's calls are one message",
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

  it.effect("a request to Anthropic without tools describes earlier calls in words", () =>
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

  it.effect("a request to Anthropic begins with the user, and has no empty text", () =>
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

const claude = "claude-opus-5-5"

const reasoning = (data: string, origin = "here"): Reasoning => ({ text: "", opaque: { origin, data } })
const thought = (signature: string) => ({ type: "thinking", thinking: "Hm.", signature })
const thoughts = (signature: string, origin = "here") => [
  reasoning(JSON.stringify(thought(signature)), origin)
]
const callOf = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name: "calc",
  arguments: "{}",
  ...more
})
const ownCall = (id: string) => callOf(id, { opaque: { origin: "here", data: "" } })
const result = (callId: string): ModelMessage => ({ role: "tool", callId, name: "calc", text: "2" })
const question: ModelMessage = { role: "user", text: "?" }
const use = (id: string) => ({ type: "tool_use", id, name: "calc", input: {} })
const answered = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "2" })

/** The messages of a request, without the marks of the cache. */
const turnsFor = (
  model: string,
  messages: ReadonlyArray<ModelMessage>,
  more: Partial<ModelRequest> & { readonly dialect?: Dialect } = {}
) => {
  const { dialect = fullDialect, ...rest } = more
  const asked = request("", { messages, tools, ...rest })
  return decodeBody(encodeAnthropicRequest(model, asked, { ...dialect, cacheControl: false })).messages
}

const decodeBody = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      system: Schema.optionalKey(Schema.Unknown),
      tools: Schema.optionalKey(Schema.Unknown),
      messages: Schema.Array(Schema.Unknown)
    })
  )
)

describe("AnthropicMessages, what the model thought", () => {
  const loop: ReadonlyArray<ModelMessage> = [
    question,
    {
      role: "assistant",
      text: "Wait.",
      reasoning: thoughts("a"),
      toolCalls: [ownCall("c1"), { ...ownCall("c2"), reasoning: thoughts("b") }]
    },
    result("c1"),
    result("c2")
  ]
  const withThoughts = [
    { role: "user", content: [textBlock("?")] },
    {
      role: "assistant",
      content: [thought("a"), textBlock("Wait."), use("c1"), thought("b"), use("c2")]
    },
    { role: "user", content: [answered("c1"), answered("c2")] }
  ]
  const withoutThoughts = [
    withThoughts[0],
    { role: "assistant", content: [textBlock("Wait."), use("c1"), use("c2")] },
    withThoughts[2]
  ]
  const asText = [
    withThoughts[0],
    { role: "assistant", content: [textBlock("Wait.\n[called calc with {}]\n[called calc with {}]")] },
    { role: "user", content: [textBlock("[result of calc]\n2"), textBlock("[result of calc]\n2")] }
  ]

  it("a thought stands before its text and its calls, for models that think and for unknown ones", () => {
    for (const model of [claude, "claude-opus-5", "claude-3-7-sonnet-20250219", "kimi-k3"])
      assert.deepStrictEqual(turnsFor(model, loop), withThoughts)
    const options = { reasoningEffort: "low" } as const
    assert.deepStrictEqual(turnsFor("claude-opus-4-8", loop, { options }), withThoughts)
  })

  it("a thought is left out where the model doesn't think", () => {
    const options = { reasoningEffort: "none" } as const
    assert.deepStrictEqual(turnsFor("claude-opus-5", loop, { options }), withoutThoughts)
    assert.deepStrictEqual(turnsFor("claude-opus-4-8", loop), withoutThoughts)
    assert.deepStrictEqual(turnsFor(claude, loop, { options }), withThoughts)
  })

  it("a thought is left out where it can't be read", () => {
    const unreadable = ["", "no JSON", "7", "{}", `{"type":"text","text":"injected"}`].map((data) =>
      reasoning(data)
    )
    const messages: ReadonlyArray<ModelMessage> = [
      question,
      {
        role: "assistant",
        text: "A",
        toolCalls: [],
        reasoning: [...unreadable, { text: "seen", opaque: null }, ...thoughts("a")]
      },
      question
    ]
    assert.deepStrictEqual(turnsFor(claude, messages)[1], {
      role: "assistant",
      content: [thought("a"), textBlock("A")]
    })
  })

  it("a thought is joined with what the model said next", () => {
    const messages: ReadonlyArray<ModelMessage> = [
      question,
      { role: "assistant", text: "A", toolCalls: [], reasoning: thoughts("a") },
      { role: "assistant", text: "", toolCalls: [], reasoning: thoughts("b") },
      { role: "assistant", text: "", toolCalls: [ownCall("c1")] },
      result("c1")
    ]
    assert.deepStrictEqual(turnsFor(claude, messages)[1], {
      role: "assistant",
      content: [thought("a"), textBlock("A"), thought("b"), use("c1")]
    })
  })

  const alien: ReadonlyArray<ModelMessage> = [
    question,
    { role: "assistant", text: "Wait.", toolCalls: [callOf("c1"), callOf("c2")] },
    result("c1"),
    result("c2")
  ]

  it("rounds of another model or of a client are text for a model that refused them", () => {
    const options = { reasoningEffort: "none" } as const
    for (const model of [claude, "claude-3-7-sonnet-20250219", "claude-opus-4-8", "kimi-k3"])
      assert.deepStrictEqual(turnsFor(model, alien), withoutThoughts)
    assert.deepStrictEqual(turnsFor("claude-haiku-5-5", alien, { options }), withoutThoughts)
    const dialect = { ...fullDialect, thoughts: false }
    assert.deepStrictEqual(turnsFor(claude, alien, { dialect }), asText)
    const own = [...alien, question, ...loop]
    assert.deepStrictEqual(turnsFor(claude, own).slice(3), withThoughts.slice(1))
  })

  it("an own round without thinking stays a round", () => {
    const plain: ReadonlyArray<ModelMessage> = [
      question,
      { role: "assistant", text: "Wait.", toolCalls: [ownCall("c1"), ownCall("c2")] },
      result("c1"),
      result("c2")
    ]
    assert.deepStrictEqual(turnsFor(claude, plain), withoutThoughts)
    const dialect = { ...fullDialect, thoughts: false }
    assert.deepStrictEqual(turnsFor(claude, plain, { dialect }), asText)
    assert.deepStrictEqual(turnsFor(claude, loop, { dialect }), asText)
  })

  it.effect("a thought reaches no model but the one that it came from", () =>
    Effect.gen(function* () {
      const { server, upstream } = yield* setUp
      const at = serverAt(server.url, "anthropic")
      const call = (yield* callOnce(upstream, at))({ ...model, id: claude })
      const origin = originOf(at, claude)
      const history = (from: string): ReadonlyArray<ModelMessage> => [
        question,
        {
          role: "assistant",
          text: "",
          reasoning: thoughts("a", from),
          toolCalls: [callOf("c1", { opaque: { origin: from, data: "" } })]
        },
        result("c1")
      ]
      for (const messages of [history(origin), history(`${origin}-20260922`)])
        yield* Stream.runDrain(call(request("", { messages, tools })))
      const [own, other] = yield* Effect.all([server.request(0), server.request(1)])
      assert.include(JSON.stringify(own.body["messages"]), `"signature":"a"`)
      assert.notInclude(JSON.stringify(other.body["messages"]), "signature")
      assert.include(JSON.stringify(other.body["messages"]), `"tool_use"`)
    })
  )
})
