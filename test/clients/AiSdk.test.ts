import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { generateText, type ModelMessage, streamText } from "ai"
import { Effect, Stream } from "effect"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

const provider = Effect.map(TestApp, ({ alice, url }) =>
  createOpenAI({ apiKey: alice.key, baseURL: `${url}/v1` })
)

/** The Vercel AI SDK with its OpenAI provider, pointed at the service. */
layer(TestApp.layer(), { excludeTestServices: true })("ai with @ai-sdk/openai", (it) => {
  it.effect("@ai-sdk/openai generates text", () =>
    Effect.gen(function* () {
      const openai = yield* provider
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " world"))
      const result = yield* Effect.promise(() =>
        generateText({ model: openai("auto"), prompt: "Hi", system: "Be kind." })
      )
      assert.strictEqual(result.text, "Hello world")
      assert.strictEqual(result.finishReason, "stop")
      assert.strictEqual(result.usage.totalTokens, 18)
      const { messages } = (yield* model.asked).at(-1)!.request
      assert.deepStrictEqual(
        messages.map(({ role, text: said }) => [role, said]),
        [
          ["system", "Be kind."],
          ["user", "Hi"]
        ]
      )
    })
  )

  it.effect("@ai-sdk/openai streams text", () =>
    Effect.gen(function* () {
      const openai = yield* provider
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " ", "world"))
      const seen = yield* Effect.promise(async () => {
        const result = streamText({ model: openai("auto"), prompt: "Hi" })
        const chunks: Array<string> = []
        for await (const chunk of result.textStream) chunks.push(chunk)
        return { chunks, finishReason: await result.finishReason }
      })
      assert.strictEqual(seen.chunks.join(""), "Hello world")
      assert.strictEqual(seen.finishReason, "stop")
    })
  )

  it.effect("@ai-sdk/openai holds a conversation of two turns, with an item reference to the first", () =>
    Effect.gen(function* () {
      const openai = yield* provider
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"))
      const sent: Array<string> = []
      const app = yield* TestApp
      const watching = createOpenAI({
        apiKey: app.alice.key,
        baseURL: `${app.url}/v1`,
        fetch: (input, init) => {
          sent.push(String(init?.body))
          return fetch(input, init)
        }
      })
      yield* Effect.promise(async () => {
        const messages: Array<ModelMessage> = [{ role: "user", content: "a" }]
        const first = await generateText({ model: openai("auto"), messages })
        messages.push(...first.response.messages, { role: "user", content: "b" })
        const second = await generateText({ model: watching("auto"), messages })
        assert.strictEqual(second.text, "two")
      })
      assert.include(sent[0] ?? "", "item_reference")
      const texts = (yield* model.asked).at(-1)!.request.messages.map((message) => message.text)
      assert.deepStrictEqual(texts, ["a", "one", "b"])
    })
  )

  it.effect("@ai-sdk/openai reports a failure in the middle of a stream", () =>
    Effect.gen(function* () {
      const openai = yield* provider
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("cut"))))
      const seen = yield* Effect.promise(async () => {
        const errors: Array<unknown> = []
        const result = streamText({
          model: openai("auto"),
          prompt: "Hi",
          maxRetries: 0,
          onError: ({ error }) => void errors.push(error)
        })
        let said = ""
        for await (const chunk of result.textStream) said += chunk
        return { said, errors }
      })
      assert.strictEqual(seen.said, "Hel")
      assert.isAbove(seen.errors.length, 0)
    })
  )
})
