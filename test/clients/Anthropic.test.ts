import { createAnthropic } from "@ai-sdk/anthropic"
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError
} from "@anthropic-ai/sdk"
import { assert, layer } from "@effect/vitest"
import { isStepCount, streamText, tool } from "ai"
import { Effect, Stream } from "effect"
import { z } from "zod"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { failure, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new Anthropic({ apiKey: alice.key, baseURL: `${url}/anthropic`, maxRetries: 0 })
)

const script = (...streams: ReadonlyArray<ReturnType<typeof says>>) =>
  Effect.flatMap(ScriptedModel, (model) =>
    Effect.all([
      model.clear,
      model.change({ tools: true, vision: true, contextWindow: 50_000 }),
      model.next(...streams)
    ])
  )

const asked = Effect.map(
  Effect.flatMap(ScriptedModel, (model) => model.asked),
  (all) => all.at(-1)!.request
)

const hello = { model: "auto", max_tokens: 100, messages: [{ role: "user" as const, content: "Hi" }] }

const weather: Anthropic.Tool = {
  name: "weather",
  description: "The weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const opaque = { origin: "o", data: "signed" }

/** A model that thinks, and calls for the weather of a city. */
const looks = (city: string) =>
  Stream.fromIterable<ModelPart>([
    { type: "reasoning_text", text: "I must " },
    { type: "reasoning_text", text: "look." },
    { type: "reasoning", reasoning: { text: "I must look.", opaque } },
    text(`I look at ${city}.`),
    {
      type: "tool_call",
      call: { id: `p_${city}`, name: "weather", arguments: JSON.stringify({ city }), opaque }
    },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

/** The official `@anthropic-ai/sdk`, pointed at the service. */
layer(TestApp.layer(), { excludeTestServices: true })("@anthropic-ai/sdk", (it) => {
  it.effect("@anthropic-ai/sdk creates a message", () =>
    Effect.gen(function* () {
      const anthropic = yield* client
      yield* script(says("Hello", " world"))
      const message = yield* Effect.promise(() => anthropic.messages.create({ ...hello, system: "Be kind." }))
      assert.deepStrictEqual(message.content, [{ type: "text", text: "Hello world", citations: null }])
      assert.deepStrictEqual([message.stop_reason, message.model], ["end_turn", "scripted-1"])
      assert.deepStrictEqual([message.usage.input_tokens, message.usage.output_tokens], [11, 7])
      assert.isString(message._request_id)
    })
  )

  it.effect("@anthropic-ai/sdk streams events, and accumulates them with its own helper", () =>
    Effect.gen(function* () {
      const anthropic = yield* client
      yield* script(says("Hello", " world"), says("Hello", " world"))
      const types = yield* Effect.promise(async () => {
        const seen: Array<string> = []
        for await (const event of await anthropic.messages.create({ ...hello, stream: true }))
          seen.push(event.type)
        return seen
      })
      assert.deepStrictEqual(types, [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop"
      ])
      const { message, streamed } = yield* Effect.promise(async () => {
        let streamed = ""
        const stream = anthropic.messages.stream(hello).on("text", (delta) => (streamed += delta))
        return { message: await stream.finalMessage(), streamed }
      })
      assert.strictEqual(streamed, "Hello world")
      assert.deepStrictEqual(
        message.content.map((block) => (block.type === "text" ? block.text : null)),
        ["Hello world"]
      )
      assert.deepStrictEqual([message.stop_reason, message.usage.output_tokens], ["end_turn", 7])
    })
  )

  it.effect("@anthropic-ai/sdk runs two rounds of its tools, and gives back what the model thought", () =>
    Effect.gen(function* () {
      const anthropic = yield* client
      yield* script(looks("Bonn"), looks("Berlin"), says("Sunny in both."))
      const messages: Array<Anthropic.MessageParam> = [...hello.messages]
      const turn = () =>
        anthropic.messages
          .stream({
            ...hello,
            messages,
            tools: [weather],
            thinking: { type: "enabled", budget_tokens: 1_024 }
          })
          .finalMessage()
      for (const city of ["Bonn", "Berlin"]) {
        const message = yield* Effect.promise(turn)
        assert.strictEqual(message.stop_reason, "tool_use")
        // The signature of a call is a block of its own behind the call.
        const [thought, said, use, signed] = message.content
        assert(thought?.type === "thinking" && said?.type === "text" && use?.type === "tool_use")
        assert.strictEqual(signed?.type, "redacted_thinking")
        assert.deepStrictEqual([thought.thinking, said.text], ["I must look.", `I look at ${city}.`])
        assert.deepStrictEqual(use.input, { city })
        messages.push(
          { role: "assistant", content: message.content },
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: use.id,
                content: [{ type: "text", text: `sun in ${city}` }]
              }
            ]
          }
        )
      }
      const last = yield* Effect.promise(turn)
      assert.strictEqual(last.stop_reason, "end_turn")
      const given = (yield* asked).messages
      assert.deepStrictEqual(
        given.filter(({ role }) => role === "tool").map((message) => message.text),
        ["sun in Bonn", "sun in Berlin"]
      )
      assert.deepStrictEqual(
        given.flatMap((message) => (message.role === "assistant" ? [message.reasoning] : [])),
        [[{ text: "I must look.", opaque }], [{ text: "I must look.", opaque }]]
      )
    })
  )

  it.effect("@anthropic-ai/sdk shows an image, counts tokens and lists models", () =>
    Effect.gen(function* () {
      const anthropic = yield* client
      yield* script(says("A dot."))
      const data =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
      const messages: Array<Anthropic.MessageParam> = [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data } },
            { type: "text", text: "What is it?" }
          ]
        }
      ]
      yield* Effect.promise(() => anthropic.messages.create({ ...hello, messages }))
      const [message] = (yield* asked).messages
      assert.isTrue(message?.role === "user" && message.images?.[0]?.data === data)
      const { input_tokens } = yield* Effect.promise(() =>
        anthropic.messages.countTokens({ model: "auto", messages })
      )
      assert.isAbove(input_tokens, 0)
      const models = yield* Effect.promise(async () => {
        const ids: Array<string> = []
        for await (const { id } of anthropic.models.list({ limit: 1 })) ids.push(id)
        return ids
      })
      assert.deepStrictEqual(models, ["auto", "scripted-1", "scripted-2"])
      const one = yield* Effect.promise(() => anthropic.models.retrieve("scripted-1"))
      assert.strictEqual(one.max_input_tokens, 50_000)
    })
  )

  it.effect("@anthropic-ai/sdk knows the errors by their types", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const anthropic = yield* client
      const stranger = new Anthropic({ apiKey: "sk-ant", baseURL: `${url}/anthropic`, maxRetries: 0 })
      yield* script(
        Stream.fail(failure("rate_limited")),
        Stream.fail(failure("rate_limited")),
        Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error")))
      )
      const failed = (request: () => Promise<unknown>) =>
        Effect.promise(() =>
          request().then(
            () => null,
            (error: unknown) => error
          )
        )
      for (const [request, error, type] of [
        [() => stranger.messages.create(hello), AuthenticationError, "authentication_error"],
        [
          () => anthropic.messages.create({ ...hello, model: "claude-none" }),
          NotFoundError,
          "not_found_error"
        ],
        [
          () => anthropic.messages.create({ ...hello, messages: [] }),
          BadRequestError,
          "invalid_request_error"
        ],
        [() => anthropic.messages.create(hello), InternalServerError, "overloaded_error"],
        [() => anthropic.messages.stream(hello).finalMessage(), APIError, "api_error"]
      ] as const) {
        const thrown = yield* failed(request)
        assert.instanceOf(thrown, error)
        assert.strictEqual(thrown.type, type)
      }
    })
  )
})

/** `@ai-sdk/anthropic`, whose base URL has the version. */
layer(TestApp.layer(), { excludeTestServices: true })("@ai-sdk/anthropic", (it) => {
  it.effect("@ai-sdk/anthropic streams an answer after two rounds of its tool, with reasoning", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const parley = createAnthropic({ apiKey: alice.key, baseURL: `${url}/anthropic/v1` })
      yield* script(looks("Bonn"), looks("Berlin"), says("Sunny in both."))
      const cities: Array<string> = []
      const { reasoning, said } = yield* Effect.promise(async () => {
        const result = streamText({
          model: parley("auto"),
          prompt: "Hi",
          maxOutputTokens: 500,
          stopWhen: isStepCount(3),
          providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } },
          tools: {
            weather: tool({
              inputSchema: z.object({ city: z.string() }),
              execute: ({ city }) => {
                cities.push(city)
                return `sun in ${city}`
              }
            })
          }
        })
        let said = ""
        for await (const delta of result.textStream) said += delta
        const [first] = await result.steps
        return { said, reasoning: first?.reasoningText }
      })
      assert.deepStrictEqual(cities, ["Bonn", "Berlin"])
      assert.strictEqual(reasoning, "I must look.")
      assert.isTrue(said.endsWith("Sunny in both."))
      const given = (yield* asked).messages
      assert.deepStrictEqual(
        given.flatMap((message) => (message.role === "assistant" ? [message.reasoning] : [])),
        [[{ text: "I must look.", opaque }], [{ text: "I must look.", opaque }]]
      )
    })
  )
})
