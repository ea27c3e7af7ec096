import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { generateText, streamText } from "ai"
import { Effect, Stream } from "effect"
import OpenAI from "openai"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

/** A round with two calls between two texts, and the round that answers. */
const script = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, contextWindow: 20_000 })
  const calls = ["12345*6789", "1+"].map((expression, index): ModelPart => ({
    type: "tool_call",
    call: { id: `call_${index}`, name: "calculator", arguments: JSON.stringify({ expression }) }
  }))
  yield* model.next(
    Stream.fromIterable([
      text("Let me count. "),
      ...calls,
      { type: "finish", reason: "tool_calls", usage: scriptedUsage }
    ]),
    says("It is ", "83810205.")
  )
})

const whole = "Let me count. It is 83810205."

/** The service runs its tools by itself; client libraries must neither run them nor stumble over them. */
layer(TestApp.layer(), { excludeTestServices: true })("an answer with tool calls", (it) => {
  it.effect("an answer with tool calls is read by openai", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = new OpenAI({ apiKey: alice.key, baseURL: `${url}/v1`, maxRetries: 0 })
      yield* script
      const response = yield* Effect.promise(() => client.responses.create({ model: "auto", input: "Hi" }))
      assert.strictEqual(response.output_text, whole)
      assert.deepStrictEqual(
        response.output.map((item) => (item.type === "mcp_call" ? [item.name, item.output] : item.type)),
        ["message", ["calculator", "83810205"], ["calculator", null], "message"]
      )
    })
  )

  it.effect("an answer with tool calls is accumulated by openai's stream helper", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const client = new OpenAI({ apiKey: alice.key, baseURL: `${url}/v1`, maxRetries: 0 })
      yield* script
      const final = yield* Effect.promise(() =>
        client.responses.stream({ model: "auto", input: "Hi" }).finalResponse()
      )
      assert.strictEqual(final.output_text, whole)
      assert.strictEqual(final.output.filter((item) => item.type === "mcp_call").length, 2)
    })
  )

  it.effect("an answer with tool calls is read by the AI SDK, whole and streamed", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const openai = createOpenAI({ apiKey: alice.key, baseURL: `${url}/v1` })
      yield* script
      const generated = yield* Effect.promise(() => generateText({ model: openai("auto"), prompt: "Hi" }))
      assert.strictEqual(generated.text, whole)
      assert.strictEqual(generated.finishReason, "stop")
      yield* script
      const streamed = yield* Effect.promise(async () => {
        const result = streamText({ model: openai("auto"), prompt: "Hi" })
        let seen = ""
        for await (const chunk of result.textStream) seen += chunk
        const results = (await result.toolResults).length
        return { seen, reason: await result.finishReason, results }
      })
      assert.deepStrictEqual(streamed, { seen: whole, reason: "stop", results: 2 })
    })
  )

  it.effect("an answer with tool calls is replayed by the AI SDK in the next turn", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      const openai = createOpenAI({ apiKey: alice.key, baseURL: `${url}/v1` })
      yield* script
      const first = yield* Effect.promise(() => generateText({ model: openai("auto"), prompt: "Hi" }))
      yield* model.next(says("Again."))
      const second = yield* Effect.promise(() =>
        generateText({
          model: openai("auto"),
          messages: [
            { role: "user", content: "Hi" },
            ...first.response.messages,
            { role: "user", content: "Again?" }
          ]
        })
      )
      assert.strictEqual(second.text, "Again.")
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.filter(({ role }) => role === "tool").map((message) => message.text),
        ["83810205", messages.filter(({ role }) => role === "tool")[1]!.text]
      )
      assert.deepInclude(messages.at(-1), { role: "user", text: "Again?" })
    })
  )
})
