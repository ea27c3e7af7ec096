import { createOpenAI } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import { HumanMessage, ToolMessage } from "@langchain/core/messages"
import { ChatOpenAI } from "@langchain/openai"
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai"
import { Effect, Stream } from "effect"
import OpenAI, { APIError } from "openai"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { failure, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"

const base = Effect.map(TestApp, ({ alice, url }) => ({
  apiKey: alice.key,
  baseURL: `${url}/openai/v1`,
  maxRetries: 0
}))

const parameters = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false
}

/** A model that calls the client's function, and answers with its result. */
const weatherScript = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, contextWindow: 20_000 })
  yield* model.next(
    Stream.fromIterable<ModelPart>([
      { type: "tool_call", call: { id: "provider_1", name: "weather", arguments: `{"city":"Bonn"}` } },
      { type: "finish", reason: "tool_calls", usage: scriptedUsage }
    ]),
    says("It rains in ", "Bonn.")
  )
})

/** The result of the client's function, as the model's last call received it. */
const lastResult = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const { messages } = (yield* model.asked).at(-1)!.request
  return messages.flatMap((message) => (message.role === "tool" ? [message.text] : []))
})

const rain = async ({ city }: { readonly city: string }): Promise<string> => `rain in ${city}`

layer(TestApp.layer(), { excludeTestServices: true })("openai.chat.completions", (it) => {
  it.effect("openai.chat.completions creates, and streams with its helper", () =>
    Effect.gen(function* () {
      const openai = new OpenAI(yield* base)
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hel", "lo"))
      const messages = [{ role: "user" as const, content: "Hi" }]
      const created = yield* Effect.promise(() => openai.chat.completions.create({ model: "auto", messages }))
      assert.strictEqual(created.choices[0]?.message.content, "Hello")
      assert.strictEqual(created.usage?.total_tokens, 18)
      const final = yield* Effect.promise(() =>
        openai.chat.completions
          .stream({ model: "auto", messages, stream_options: { include_usage: true } })
          .finalChatCompletion()
      )
      assert.strictEqual(final.choices[0]?.message.content, "Hello")
      assert.strictEqual(final.usage?.total_tokens, 18)
    })
  )

  it.effect("openai.chat.completions parses an answer that has to match a schema", () =>
    Effect.gen(function* () {
      const openai = new OpenAI(yield* base)
      const model = yield* ScriptedModel
      yield* model.next(says(`{"city":"Bonn"}`))
      const parsed = yield* Effect.promise(() =>
        openai.chat.completions.parse({
          model: "auto",
          messages: [{ role: "user", content: "Where?" }],
          response_format: {
            type: "json_schema",
            json_schema: { name: "place", schema: parameters, strict: true },
            // The SDK's helpers for schemas add these fields.
            $brand: "auto-parseable-response-format",
            $parseRaw: (raw: string): unknown => JSON.parse(raw)
          }
        })
      )
      assert.deepStrictEqual(parsed.choices[0]?.message.parsed, { city: "Bonn" })
    })
  )

  for (const stream of [false, true]) {
    it.effect(`openai.chat.completions runs tools ${stream ? "in a stream" : "in whole answers"}`, () =>
      Effect.gen(function* () {
        const openai = new OpenAI(yield* base)
        yield* weatherScript
        const options = {
          model: "auto",
          messages: [{ role: "user" as const, content: "Weather?" }],
          tools: [
            {
              type: "function" as const,
              function: {
                name: "weather",
                description: "The weather.",
                parameters,
                function: rain,
                parse: (raw: string): { city: string } => JSON.parse(raw)
              }
            }
          ]
        }
        const said = yield* Effect.promise(() =>
          stream
            ? openai.chat.completions.runTools({ ...options, stream: true }).finalContent()
            : openai.chat.completions.runTools(options).finalContent()
        )
        assert.strictEqual(said, "It rains in Bonn.")
        assert.deepStrictEqual(yield* lastResult, ["rain in Bonn"])
      })
    )
  }

  it.effect("openai.chat.completions knows a failure within a stream by its code", () =>
    Effect.gen(function* () {
      const openai = new OpenAI(yield* base)
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("cut"))))
      const caught = yield* Effect.promise(async () => {
        const messages = [{ role: "user" as const, content: "Hi" }]
        try {
          for await (const chunk of await openai.chat.completions.create({
            model: "auto",
            messages,
            stream: true
          }))
            void chunk
        } catch (error) {
          return error
        }
        return null
      })
      assert.instanceOf(caught, APIError)
      if (caught instanceof APIError) assert.strictEqual(caught.code, "generation_failed")
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("@langchain/openai by its default", (it) => {
  const chat = Effect.map(
    base,
    ({ apiKey, baseURL }) =>
      new ChatOpenAI({ apiKey, model: "auto", configuration: { baseURL }, maxRetries: 0, temperature: 0 })
  )

  it.effect("@langchain/openai invokes and streams", () =>
    Effect.gen(function* () {
      const langChain = yield* chat
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hel", "lo"))
      const message = yield* Effect.promise(() => langChain.invoke("Hi"))
      assert.strictEqual(message.text, "Hello")
      const { usage_metadata: usage }: { readonly usage_metadata?: unknown } = message
      assert.propertyVal(usage, "total_tokens", 18)
      const said = yield* Effect.promise(async () => {
        let all = ""
        for await (const chunk of await langChain.stream("Hi")) all += chunk.text
        return all
      })
      assert.strictEqual(said, "Hello")
    })
  )

  it.effect("@langchain/openai calls tools and goes on with their results", () =>
    Effect.gen(function* () {
      const langChain = (yield* chat).bindTools([
        { type: "function", function: { name: "weather", description: "The weather.", parameters } }
      ])
      yield* weatherScript
      const said = yield* Effect.promise(async () => {
        const question = new HumanMessage("Weather?")
        const first = await langChain.invoke([question])
        const [called] = first.tool_calls ?? []
        assert.deepStrictEqual(called?.args, { city: "Bonn" })
        const result = new ToolMessage({ content: "rain in Bonn", tool_call_id: called?.id ?? "" })
        return (await langChain.invoke([question, first, result])).text
      })
      assert.strictEqual(said, "It rains in Bonn.")
      assert.deepStrictEqual(yield* lastResult, ["rain in Bonn"])
    })
  )

  it.effect("@langchain/openai gets an object of a schema", () =>
    Effect.gen(function* () {
      const langChain = (yield* chat).withStructuredOutput(parameters, { name: "place" })
      const model = yield* ScriptedModel
      yield* model.next(says(`{"city":"Bonn"}`))
      assert.deepStrictEqual(yield* Effect.promise(() => langChain.invoke("Where?")), { city: "Bonn" })
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("openai.chat of the AI SDK", (it) => {
  const chat = Effect.map(base, ({ apiKey, baseURL }) => createOpenAI({ apiKey, baseURL }).chat("auto"))

  it.effect("openai.chat of the AI SDK generates and streams text", () =>
    Effect.gen(function* () {
      const sdk = yield* chat
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"), says("Hel", "lo"))
      const result = yield* Effect.promise(() =>
        generateText({ model: sdk, prompt: "Hi", system: "Be kind." })
      )
      assert.deepStrictEqual(
        [result.text, result.finishReason, result.usage.totalTokens],
        ["Hello", "stop", 18]
      )
      const streamed = yield* Effect.promise(async () => await streamText({ model: sdk, prompt: "Hi" }).text)
      assert.strictEqual(streamed, "Hello")
    })
  )

  it.effect("openai.chat of the AI SDK runs tools step by step", () =>
    Effect.gen(function* () {
      const sdk = yield* chat
      yield* weatherScript
      const weather = tool({
        description: "The weather.",
        inputSchema: jsonSchema<{ readonly city: string }>(parameters),
        execute: rain
      })
      const said = yield* Effect.promise(async () => {
        const options = { model: sdk, prompt: "Weather?", tools: { weather }, stopWhen: stepCountIs(3) }
        return await streamText(options).text
      })
      assert.strictEqual(said, "It rains in Bonn.")
      assert.deepStrictEqual(yield* lastResult, ["rain in Bonn"])
    })
  )

  it.effect("openai.chat of the AI SDK generates an object", () =>
    Effect.gen(function* () {
      const sdk = yield* chat
      const model = yield* ScriptedModel
      yield* model.next(says(`{"city":"Bonn"}`))
      const output = Output.object({ schema: jsonSchema<{ readonly city: string }>(parameters) })
      const result = yield* Effect.promise(() => generateText({ model: sdk, prompt: "Where?", output }))
      assert.deepStrictEqual(result.output, { city: "Bonn" })
    })
  )
})
