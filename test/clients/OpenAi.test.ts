import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import OpenAI, { APIError, AuthenticationError, BadRequestError } from "openai"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/v1`, maxRetries: 0 })
)

/** The official `openai` package, pointed at the service. */
layer(TestApp.layer(), { excludeTestServices: true })("openai", (it) => {
  it.effect("openai creates a response", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " world"))
      const response = yield* Effect.promise(() =>
        openai.responses.create({ model: "gpt-4o", input: "Hi", instructions: "Be kind." })
      )
      assert.strictEqual(response.output_text, "Hello world")
      assert.strictEqual(response.model, "scripted-1")
      assert.strictEqual(response.usage?.total_tokens, 18)
      assert.strictEqual(response.output[0]?.type, "message")
    })
  )

  it.effect("openai streams events", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " world"))
      const seen = yield* Effect.promise(async () => {
        const deltas: Array<string> = []
        const types = new Set<string>()
        const stream = await openai.responses.create({ model: "auto", input: "Hi", stream: true })
        for await (const event of stream) {
          types.add(event.type)
          if (event.type === "response.output_text.delta") deltas.push(event.delta)
        }
        return { deltas, types: [...types] }
      })
      assert.deepStrictEqual(seen.deltas, ["Hello", " world"])
      assert.include(seen.types, "response.completed")
    })
  )

  it.effect("openai accumulates a stream with its own helper", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("Hello", " world"))
      const final = yield* Effect.promise(async () => {
        const stream = openai.responses.stream({ model: "auto", input: "Hi" })
        let streamed = ""
        stream.on("response.output_text.delta", (event) => (streamed += event.delta))
        const response = await stream.finalResponse()
        return { streamed, response }
      })
      assert.strictEqual(final.streamed, "Hello world")
      assert.strictEqual(final.response.output_text, "Hello world")
      assert.strictEqual(final.response.status, "completed")
    })
  )

  it.effect("openai continues a conversation by previous_response_id and by conversation", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"), says("three"))
      yield* Effect.promise(async () => {
        const first = await openai.responses.create({ model: "auto", input: "a" })
        const second = await openai.responses.create({
          model: "auto",
          input: "b",
          previous_response_id: first.id
        })
        const conversation = second.conversation?.id ?? ""
        await openai.responses.create({ model: "auto", input: "c", conversation })
      })
      const texts = (yield* model.asked).at(-1)!.request.messages.map((message) => message.text)
      assert.deepStrictEqual(texts, ["a", "one", "b", "two", "c"])
    })
  )

  it.effect("openai replays an output in the next input", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"))
      yield* Effect.promise(async () => {
        const first = await openai.responses.create({ model: "auto", input: "a" })
        // The package's own types tell outputs and inputs apart in details that don't matter on the wire.
        const replayed = first.output as unknown as Array<OpenAI.Responses.ResponseInputItem>
        const input = [
          { role: "user" as const, content: "a" },
          ...replayed,
          { role: "user" as const, content: "b" }
        ]
        await openai.responses.create({ model: "auto", input })
      })
      const texts = (yield* model.asked).at(-1)!.request.messages.map((message) => message.text)
      assert.deepStrictEqual(texts, ["a", "one", "b"])
    })
  )

  it.effect("openai aborts, and the model is cancelled", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const model = yield* ScriptedModel
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hello")), Stream.never))
      yield* Effect.promise(async () => {
        const stream = await openai.responses.create({ model: "auto", input: "Hi", stream: true })
        for await (const event of stream) {
          if (event.type === "response.output_text.delta") break
        }
        stream.controller.abort()
      })
      yield* untilValue(model.ended, (count) => count > ended)
    })
  )

  it.effect("openai knows the service's errors by their status, code and param", () =>
    Effect.gen(function* () {
      const openai = yield* client
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const caught = (run: () => Promise<unknown>) =>
        Effect.promise(() =>
          run().then(
            () => assert.fail("expected an error"),
            (error: unknown) => error
          )
        )
      const bad = yield* caught(() => openai.responses.create({ model: "auto", input: "" }))
      assert.instanceOf(bad, BadRequestError)
      if (bad instanceof BadRequestError) {
        assert.strictEqual(bad.param, "input")
        assert.strictEqual(bad.code, "invalid_request")
      }
      const stranger = new OpenAI({ apiKey: "parley_nothing", baseURL: `${app.url}/v1`, maxRetries: 0 })
      assert.instanceOf(
        yield* caught(() => stranger.responses.create({ model: "auto", input: "Hi" })),
        AuthenticationError
      )
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("cut"))))
      const midStream = yield* caught(async () => {
        for await (const event of await openai.responses.create({ model: "auto", input: "Hi", stream: true }))
          void event
      })
      assert.instanceOf(midStream, APIError)
      if (midStream instanceof APIError) assert.strictEqual(midStream.code, "generation_failed")
    })
  )
})
