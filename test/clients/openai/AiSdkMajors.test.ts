import { createOpenAI as createOpenAi4 } from "@ai-sdk/openai"
import { assert, layer } from "@effect/vitest"
import * as ai7 from "ai"
import * as ai5 from "ai-5"
import * as ai6 from "ai-6"
import { createOpenAI as createOpenAi2 } from "ai-sdk-openai-2"
import { createOpenAI as createOpenAi3 } from "ai-sdk-openai-3"
import { Effect, Stream } from "effect"
import { z } from "zod"
import type { ModelPart } from "../../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage } from "../../support/ScriptedModel.ts"
import { TestApp } from "../../support/TestApp.ts"

/**
 * The tests use an interface that is the same in all major versions; the types of the newest stand for all.
 */
const majors = [
  ["ai 5", ai5 as unknown as typeof ai7, createOpenAi2 as unknown as typeof createOpenAi4],
  ["ai 6", ai6 as unknown as typeof ai7, createOpenAi3 as unknown as typeof createOpenAi4],
  ["ai 7", ai7, createOpenAi4]
] as const

const calls = (name: string, args: object) =>
  Stream.fromIterable<ModelPart>([
    { type: "tool_call", call: { id: "model_1", name, arguments: JSON.stringify(args) } },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

for (const [name, ai, createOpenAi] of majors) {
  for (const kind of ["responses", "chat"] as const) {
    layer(TestApp.layer(), { excludeTestServices: true })(
      `${name} with openai.${kind} at /openai/v1`,
      (it) => {
        const languageModel = Effect.map(TestApp, ({ alice, url }) =>
          createOpenAi({ apiKey: alice.key, baseURL: `${url}/openai/v1` })[kind]("auto")
        )

        it.effect(`${name} generates and streams text`, () =>
          Effect.gen(function* () {
            const model = yield* languageModel
            const scripted = yield* ScriptedModel
            yield* scripted.next(says("Hello"), says("Hel", "lo"))
            const seen = yield* Effect.promise(async () => {
              const whole = await ai.generateText({ model, prompt: "Hi" })
              const streamed = ai.streamText({ model, prompt: "Hi" })
              let said = ""
              for await (const piece of streamed.textStream) said += piece
              return [whole.text, said, await streamed.finishReason]
            })
            assert.deepStrictEqual(seen, ["Hello", "Hello", "stop"])
          })
        )

        it.effect(`${name} runs a tool of its own, and goes on with the result`, () =>
          Effect.gen(function* () {
            const model = yield* languageModel
            const scripted = yield* ScriptedModel
            yield* scripted.change({ tools: true, contextWindow: 20_000 })
            yield* scripted.next(calls("weather", { city: "Rome" }), says("Sunny."))
            const seen = yield* Effect.promise(async () => {
              const asked: Array<string> = []
              const { text } = await ai.generateText({
                model,
                prompt: "Rome?",
                stopWhen: ai.stepCountIs(3),
                tools: {
                  weather: ai.tool({
                    description: "The weather of a city.",
                    inputSchema: z.object({ city: z.string() }),
                    execute: ({ city }) => {
                      asked.push(city)
                      return "sunny"
                    }
                  })
                }
              })
              return { text, asked }
            })
            assert.deepStrictEqual(seen, { text: "Sunny.", asked: ["Rome"] })
          })
        )

        it.effect.runIf(kind === "responses")(`${name} keeps the model's thoughts, with nothing stored`, () =>
          Effect.gen(function* () {
            const model = yield* languageModel
            const scripted = yield* ScriptedModel
            yield* scripted.change({ tools: true, contextWindow: 20_000 })
            const reasoning = { text: "I look.", opaque: { origin: "o", data: "secret" } }
            const thinks = Stream.concat(
              Stream.make<ReadonlyArray<ModelPart>>(
                { type: "reasoning_text", text: "I look." },
                { type: "reasoning", reasoning }
              ),
              calls("weather", { city: "Rome" })
            )
            const settings = {
              model,
              prompt: "Rome?",
              stopWhen: ai.stepCountIs(3),
              providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } },
              tools: {
                weather: ai.tool({
                  description: "The weather of a city.",
                  inputSchema: z.object({ city: z.string() }),
                  execute: () => "sunny"
                })
              }
            }
            const ways = [
              async () => (await ai.generateText(settings)).text,
              async () => await ai.streamText(settings).text
            ]
            for (const way of ways) {
              yield* scripted.next(thinks, says("Sunny."))
              assert.strictEqual(yield* Effect.promise(way), "Sunny.")
              const { messages } = (yield* scripted.asked).at(-1)!.request
              const kept = messages.flatMap((message) =>
                message.role === "assistant" ? message.toolCalls.flatMap((one) => one.reasoning ?? []) : []
              )
              assert.deepStrictEqual(kept, [reasoning])
            }
          })
        )

        it.effect(`${name} generates an object`, () =>
          Effect.gen(function* () {
            const model = yield* languageModel
            const scripted = yield* ScriptedModel
            yield* scripted.next(says('{"name":"Ada","age":36}'))
            const { object } = yield* Effect.promise(() =>
              ai.generateObject({
                model,
                prompt: "Who?",
                schema: z.object({ name: z.string(), age: z.number() })
              })
            )
            assert.deepStrictEqual(object, { name: "Ada", age: 36 })
          })
        )

        it.effect(`${name} reads an answer for which the service ran its own tools`, () =>
          Effect.gen(function* () {
            const model = yield* languageModel
            const scripted = yield* ScriptedModel
            yield* scripted.change({ tools: true, contextWindow: 20_000 })
            yield* scripted.next(
              calls("calculator", { expression: "6*7" }),
              says("It is 42."),
              calls("calculator", { expression: "6*7" }),
              says("It is 42.")
            )
            const seen = yield* Effect.promise(async () => {
              const whole = await ai.generateText({ model, prompt: "6*7?" })
              const streamed = ai.streamText({ model, prompt: "6*7?" })
              let said = ""
              for await (const piece of streamed.textStream) said += piece
              return [whole.text, said]
            })
            assert.deepStrictEqual(seen, ["It is 42.", "It is 42."])
          })
        )
      }
    )
  }
}
