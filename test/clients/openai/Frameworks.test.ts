import { assert, layer } from "@effect/vitest"
import { HumanMessage } from "@langchain/core/messages"
import { tool as langchainTool } from "@langchain/core/tools"
import { ChatOpenAI } from "@langchain/openai"
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents"
import { chat } from "@tanstack/ai"
import { createOpenaiChat } from "@tanstack/ai-openai"
import { Effect, Stream } from "effect"
import { z } from "zod"
import type { ModelPart } from "../../../src/domain/ModelCall.ts"
import { says, ScriptedModel, scriptedUsage } from "../../support/ScriptedModel.ts"
import { TestApp } from "../../support/TestApp.ts"

const calls = (name: string, args: object) =>
  Stream.fromIterable<ModelPart>([
    { type: "tool_call", call: { id: "model_1", name, arguments: JSON.stringify(args) } },
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

const person = z.object({ name: z.string(), age: z.number() })

layer(TestApp.layer(), { excludeTestServices: true })("LangChain at /openai/v1", (it) => {
  for (const useResponsesApi of [false, true]) {
    const llm = Effect.map(
      TestApp,
      ({ alice, url }) =>
        new ChatOpenAI({
          apiKey: alice.key,
          model: "auto",
          maxRetries: 0,
          useResponsesApi,
          configuration: { baseURL: `${url}/openai/v1` }
        })
    )
    const title = useResponsesApi ? "by Responses" : "by default"

    it.effect(`LangChain invokes and streams ${title}`, () =>
      Effect.gen(function* () {
        const langchain = yield* llm
        const model = yield* ScriptedModel
        yield* model.next(says("Hello"), says("Hel", "lo"))
        const seen = yield* Effect.promise(async () => {
          const whole = await langchain.invoke([new HumanMessage("Hi")])
          let streamed = ""
          for await (const chunk of await langchain.stream("Hi")) streamed += chunk.text
          return [whole.text, streamed]
        })
        assert.deepStrictEqual(seen, ["Hello", "Hello"])
      })
    )

    it.effect(`LangChain binds a tool ${title}`, () =>
      Effect.gen(function* () {
        const langchain = yield* llm
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        yield* model.next(calls("weather", { city: "Rome" }))
        const weather = langchainTool(() => "sunny", {
          name: "weather",
          description: "The weather of a city.",
          schema: z.object({ city: z.string() })
        })
        const message = yield* Effect.promise(() => langchain.bindTools([weather]).invoke("Rome?"))
        assert.deepStrictEqual(
          message.tool_calls?.map(({ args, name }) => ({ name, args })),
          [{ name: "weather", args: { city: "Rome" } }]
        )
      })
    )

    it.effect(`LangChain returns structured output ${title}`, () =>
      Effect.gen(function* () {
        const langchain = yield* llm
        const model = yield* ScriptedModel
        yield* model.next(says('{"name":"Ada","age":36}'))
        const found = yield* Effect.promise(() =>
          langchain.withStructuredOutput(person, { name: "person", method: "jsonSchema" }).invoke("Who?")
        )
        assert.deepStrictEqual(found, { name: "Ada", age: 36 })
      })
    )
  }
})

layer(TestApp.layer(), { excludeTestServices: true })("The OpenAI Agents SDK at /openai/v1", (it) => {
  const runner = Effect.map(TestApp, ({ alice, url }) => {
    setTracingDisabled(true)
    return new Runner({
      modelProvider: new OpenAIProvider({
        apiKey: alice.key,
        baseURL: `${url}/openai/v1`,
        useResponses: true
      }),
      tracingDisabled: true
    })
  })

  it.effect("the Agents SDK runs a tool of its own", () =>
    Effect.gen(function* () {
      const agents = yield* runner
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 20_000 })
      yield* model.next(calls("weather", { city: "Rome" }), says("Sunny."))
      const asked: Array<string> = []
      const agent = new Agent({
        name: "Weather",
        instructions: "Say the weather.",
        model: "auto",
        tools: [
          tool({
            name: "weather",
            description: "The weather of a city.",
            parameters: z.object({ city: z.string() }),
            execute: ({ city }) => {
              asked.push(city)
              return "sunny"
            }
          })
        ]
      })
      const result = yield* Effect.promise(() => agents.run(agent, "Rome?"))
      assert.strictEqual(result.finalOutput, "Sunny.")
      assert.deepStrictEqual(asked, ["Rome"])
    })
  )

  it.effect("the Agents SDK returns an outputType", () =>
    Effect.gen(function* () {
      const agents = yield* runner
      const model = yield* ScriptedModel
      yield* model.next(says('{"name":"Ada","age":36}'))
      const agent = new Agent({ name: "Who", instructions: "Say who.", model: "auto", outputType: person })
      const result = yield* Effect.promise(() => agents.run(agent, "Who?"))
      assert.deepStrictEqual(result.finalOutput, { name: "Ada", age: 36 })
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("TanStack AI at /openai/v1", (it) => {
  it.effect("TanStack AI streams text", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("Hel", "lo"))
      const said = yield* Effect.promise(async () => {
        const adapter = createOpenaiChat("auto" as "gpt-4o", alice.key, { baseURL: `${url}/openai/v1` })
        let text = ""
        for await (const chunk of chat({ adapter, messages: [{ role: "user", content: "Hi" }] })) {
          if (chunk.type === "TEXT_MESSAGE_CONTENT") text += chunk.delta ?? ""
        }
        return text
      })
      assert.strictEqual(said, "Hello")
    })
  )
})
