import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import OpenAI from "openai"
import { ChatChunk, ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { makeChatRenderer, renderCompletion } from "../../src/openai/ChatRendering.ts"
import { chunkWithFunction, completionWithFunction } from "../../src/openai/LegacyFunctions.ts"
import { play, saidOf, Script } from "../responses/eventScripts.ts"
import { says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { chunksIn } from "./chatChunks.ts"

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/chat/completions`, { key: alice.key, body })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatCompletion))

/** The function call that the chunks add up to. */
const foldFunction = (chunks: ReadonlyArray<ChatChunk>) => {
  let name: string | null = null
  let args = ""
  for (const { choices } of chunks) {
    const called = choices[0]?.delta.function_call
    if (called === undefined) continue
    name = (name ?? "") + (called.name ?? "")
    args += called.arguments
  }
  return name === null ? undefined : { name, arguments: args }
}

describe("function_call", () => {
  it.effect.prop(
    "the function_call of the folded chunks is that of the document",
    [Script.said, Script.ending, Script.batch],
    ([said, ending, batch]) =>
      Effect.gen(function* () {
        const view = { includeUsage: true, metadata: null }
        const core = play(saidOf(said), ending, batch)
        const chunks = core.flatMap(makeChatRenderer(view)).flatMap(chunkWithFunction)
        for (const chunk of chunks)
          assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatChunk)(chunk), chunk)
        const end = core.at(-1)!
        if (end.type !== "response.completed") return
        const plain = renderCompletion(end.response, view)
        const whole = completionWithFunction(plain)
        assert.deepStrictEqual(yield* Schema.encodeUnknownEffect(ChatCompletion)(whole), whole)
        const [choice] = whole.choices
        assert.deepStrictEqual(foldFunction(chunks), choice?.message.function_call)
        const call = plain.choices[0]?.message.tool_calls?.[0]
        assert.deepStrictEqual(
          choice?.message.function_call,
          call?.type === "function" ? call.function : undefined
        )
        assert.strictEqual(
          chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []).at(-1),
          choice?.finish_reason
        )
        assert.notInclude(JSON.stringify([whole, ...chunks]), '"tool_calls"')
      })
  )
})

const calls = (...names: ReadonlyArray<string>) =>
  Stream.fromIterable<ModelPart>([
    ...names.map((name, index): ModelPart => ({
      type: "tool_call",
      call: { id: `provider_${index}`, name, arguments: `{"city":"Bonn"}` }
    })),
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

const functions = [{ name: "weather", description: "The weather.", parameters: { type: "object" } }]
const hello = { role: "user" as const, content: "Weather?" }

const prepared = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, contextWindow: 20_000 })
  return model
})

layer(TestApp.layer(), { excludeTestServices: true })("functions of a chat", (it) => {
  it.effect("functions of a chat are offered as tools, and called by function_call, whole and streamed", () =>
    Effect.gen(function* () {
      const model = yield* prepared
      yield* model.next(calls("weather", "weather"), calls("weather", "weather"))
      const body = { messages: [hello], functions, function_call: { name: "weather" } }
      const { choices } = yield* decode((yield* post(body)).text)
      assert.deepStrictEqual(choices[0]?.message, {
        role: "assistant",
        content: null,
        refusal: null,
        annotations: [],
        function_call: { name: "weather", arguments: `{"city":"Bonn"}` }
      })
      assert.strictEqual(choices[0]?.finish_reason, "function_call")
      const { options, tools } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(options?.toolChoice, { name: "weather" })
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["weather"]
      )
      const chunks = chunksIn((yield* post({ ...body, stream: true })).text)
      assert.deepStrictEqual(foldFunction(chunks), { name: "weather", arguments: `{"city":"Bonn"}` })
      assert.strictEqual(chunks.at(-1)?.choices[0]?.finish_reason, "function_call")
    })
  )

  it.effect("functions give the model their results, each behind the last call of its name", () =>
    Effect.gen(function* () {
      const model = yield* prepared
      yield* model.next(says("Rain, then sun."))
      const called = { role: "assistant", content: null, function_call: { name: "weather", arguments: "{}" } }
      const result = (content: string | null) => ({ role: "function", name: "weather", content })
      const reply = yield* post({
        messages: [hello, called, result("rain"), called, result("sun"), called, result(null), hello],
        functions
      })
      assert.strictEqual(reply.status, 200, reply.text)
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.flatMap((message) => {
          if (message.role === "tool") return [`result ${message.text}`]
          return message.role === "assistant" ? message.toolCalls.map(({ name }) => name) : []
        }),
        ["weather", "result rain", "weather", "result sun", "weather", "result "]
      )
    })
  )

  it.effect("functions work with the client of OpenAI", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* prepared
      yield* model.next(calls("weather"), says("It rains."))
      const openai = new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
      const asked = { model: "auto", functions }
      const first = yield* Effect.promise(() =>
        openai.chat.completions.create({ ...asked, messages: [hello], function_call: "auto" })
      )
      const message = first.choices[0]!.message
      assert.strictEqual(first.choices[0]?.finish_reason, "function_call")
      const next = yield* Effect.promise(() =>
        openai.chat.completions.create({
          ...asked,
          messages: [hello, message, { role: "function", name: "weather", content: "rain" }]
        })
      )
      assert.strictEqual(next.choices[0]?.message.content, "It rains.")
    })
  )

  const refused: ReadonlyArray<readonly [field: string, body: object]> = [
    ["functions", { functions, tools: [] }],
    ["function_call", { function_call: "auto" }],
    ["function_call", { functions, function_call: { name: "other" } }],
    ["functions[0].name", { functions: [{ name: "no name" }] }],
    ["messages[1].name", { messages: [hello, { role: "function", name: "weather", content: "rain" }] }],
    [
      "messages[1].function_call",
      {
        messages: [
          hello,
          {
            role: "assistant",
            function_call: { name: "a", arguments: "" },
            tool_calls: [{ id: "c", type: "function", function: { name: "a", arguments: "" } }]
          }
        ]
      }
    ]
  ]
  it.effect.each(refused)("functions of a chat are refused by the name of %s in %j", ([field, body]) =>
    Effect.gen(function* () {
      yield* prepared
      const { message, param } = errorOf(yield* post({ messages: [hello], ...body }), 400)
      assert.strictEqual(param, field)
      assert.include(message, `\`${field}\``)
    })
  )
})
