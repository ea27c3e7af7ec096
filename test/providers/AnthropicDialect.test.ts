import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ModelMessage, ModelRequest } from "../../src/domain/ModelCall.ts"
import { encodeAnthropicRequest } from "../../src/providers/AnthropicMessages.ts"
import { type ModelServer, originOf } from "../../src/providers/ModelServer.ts"
import { parseJson } from "../../src/providers/Protocol.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer } from "../support/MockModelServer.ts"
import { fullDialect, gate, model, request, serverAt, textOf, timeouts } from "./ServerSetup.ts"

const claude = { ...model, id: "claude-opus-5-5" }
const beta = "thinking-binding-controls-2026-08-01"
const tools = ["calc", "clock"].map((name) => ({ name, description: "", parameters: { type: "object" } }))
const marked = { cache_control: { type: "ephemeral" } }

const bodyOf = (name: string, asked: ModelRequest) =>
  parseJson(encodeAnthropicRequest(name, asked, fullDialect)) as Readonly<Record<string, unknown>>

describe("AnthropicMessages, the marks of the cache", () => {
  const messages: ReadonlyArray<ModelMessage> = [
    { role: "system", text: "Be brief." },
    { role: "user", text: "Hello." },
    { role: "assistant", text: "Hello.", toolCalls: [] },
    {
      role: "user",
      text: "What is it?",
      images: [{ mediaType: "image/png", data: "aGk=", detail: "auto" }]
    }
  ]

  it("cache marks stand on the system prompt, on the last tool and on the question's end", () => {
    const body = bodyOf("claude-haiku-4-5", request("", { messages, tools }))
    assert.deepStrictEqual(body["system"], [{ type: "text", text: "Be brief.", ...marked }])
    assert.deepStrictEqual(body["tools"], [
      { name: "calc", description: "", input_schema: { type: "object" } },
      { name: "clock", description: "", input_schema: { type: "object" }, ...marked }
    ])
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }
    assert.deepStrictEqual(body["messages"], [
      { role: "user", content: [{ type: "text", text: "Hello." }] },
      { role: "assistant", content: [{ type: "text", text: "Hello." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { ...image, ...marked }
        ]
      }
    ])
    assert.lengthOf(JSON.stringify(body).match(/cache_control/g) ?? [], 3)
  })

  it("a cache mark stands on the last result of a round of calls", () => {
    const opaque = { origin: "here", data: "" }
    const calls = ["c1", "c2"].map((id) => ({ id, name: "calc", arguments: "{}", opaque }))
    const loop: ReadonlyArray<ModelMessage> = [
      { role: "user", text: "?" },
      { role: "assistant", text: "", toolCalls: calls },
      ...calls.map(({ id }): ModelMessage => ({ role: "tool", callId: id, name: "calc", text: "2" }))
    ]
    const body = bodyOf(claude.id, request("", { messages: loop, tools }))
    const results = ["c1", "c2"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "2" }))
    assert.deepNestedInclude(body, {
      "messages[2]": { role: "user", content: [results[0], { ...results[1], ...marked }] }
    })
  })

  it("a request without a system prompt has no cache mark there, and an unknown model none at all", () => {
    const body = bodyOf(claude.id, request("hi"))
    assert.notProperty(body, "system")
    assert.deepStrictEqual(body["messages"], [
      { role: "user", content: [{ type: "text", text: "hi", ...marked }] }
    ])
    const unknown = bodyOf("claude-3-haiku-20240307", request("", { messages, tools }))
    assert.notInclude(JSON.stringify(unknown), "cache_control")
    assert.strictEqual(unknown["system"], "Be brief.")
  })
})

const setUp = (more: Partial<ModelServer> = {}) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const through = yield* gate()
    const at = serverAt(server.url, "anthropic", more)
    const call = makeServerCall(upstream, at, { gate: through, retrySeconds: 0 })(claude)
    const learned = Effect.map(through.modelHealth, (healthOf) =>
      healthOf(claude.id).learned.map(({ part }) => part)
    )
    return { server, learned, call, origin: originOf(at, claude.id) }
  })

const refusal = (message: string) => ({
  status: 400,
  errorBody: JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } })
})

describe("AnthropicMessages, what a server refuses", () => {
  it.effect("the beta header is added to those of the catalog", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp({ headers: { "anthropic-beta": Redacted.make("output-300k") } })
      yield* Stream.runDrain(call(request("hi")))
      const { body, headers } = yield* server.request(0)
      assert.strictEqual(headers["anthropic-beta"], `output-300k,${beta}`)
      assert.deepStrictEqual(body["thinking"], {
        type: "adaptive",
        display: "summarized",
        block_binding: { prefix_mismatch_behavior: "drop_block" }
      })
    })
  )

  it.effect.each([
    ["messages.0.content.0.text.cache_control: Extra inputs are not permitted", "cache_control"],
    ["thinking.adaptive.block_binding: Extra inputs are not permitted", "thinking_controls"],
    ["thinking.adaptive.display: Extra inputs are not permitted", "thinking_controls"],
    [
      `Unexpected value(s) \`${beta}\` for the \`anthropic-beta\` header. Please consult our documentation.`,
      "thinking_controls"
    ],
    ["invalid beta flag", "thinking_controls"]
  ] as const)("the refusal %s leaves the part out, also of later requests", ([says, part]) =>
    Effect.gen(function* () {
      const { call, learned, server } = yield* setUp()
      yield* server.script(refusal(says))
      for (const _ of [1, 2])
        assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "Hello, world.")
      assert.deepStrictEqual(
        server.requests.map(({ body, headers }) => [
          JSON.stringify(body).includes("cache_control"),
          "thinking" in body && "anthropic-beta" in headers
        ]),
        [[true, true], ...[1, 2].map(() => [part !== "cache_control", part !== "thinking_controls"])]
      )
      assert.deepStrictEqual(yield* learned, [part])
    })
  )

  it.effect.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.',
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final assistant message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    "messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
    "messages.1.content.0.thinking.signature: Field required"
  ])("the refusal %s repeats this one request without the model's reasoning", (says) =>
    Effect.gen(function* () {
      const { call, learned, origin, server } = yield* setUp()
      const block = JSON.stringify({ type: "thinking", thinking: "", signature: "s" })
      const messages: ReadonlyArray<ModelMessage> = [
        { role: "user", text: "?" },
        {
          role: "assistant",
          text: "",
          reasoning: [{ text: "", opaque: { origin, data: block } }],
          toolCalls: [{ id: "c1", name: "calc", arguments: "{}", opaque: { origin, data: "" } }]
        },
        { role: "tool", callId: "c1", name: "calc", text: "2" }
      ]
      yield* server.script(refusal(says))
      const ask = Stream.runCollect(call(request("", { messages, tools })))
      assert.strictEqual(textOf(yield* ask), "Hello, world.")
      yield* ask
      assert.deepStrictEqual(
        server.requests.map(({ body }) => {
          const sent = JSON.stringify(body["messages"])
          return [sent.includes("signature"), sent.includes("tool_use"), sent.includes("[called calc")]
        }),
        [
          [true, true, false],
          [false, false, true],
          [true, true, false]
        ]
      )
      assert.deepStrictEqual(yield* learned, [])
    })
  )

  it.effect("a forced call that the model refuses is the client's error, also with the service's tools", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUp()
      yield* server.usually(() => refusal("Forced tool use is not supported for this model."))
      const weather = { name: "weather", description: "", parameters: {}, param: "tools[0].parameters" }
      const asked = request("hi", { tools: [...tools, weather], options: { toolChoice: "required" } })
      const failure = yield* Effect.flip(Stream.runDrain(call(asked)))
      assert.deepInclude(failure, { reason: "bad_request", parameter: "tool_choice" })
      assert.lengthOf(server.requests, 1)
    })
  )
})
