import { assert, layer } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { makeScriptedServer, type ScriptedReply } from "../support/ScriptedServer.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

class Gemini extends Context.Service<Gemini, Effect.Success<typeof makeScriptedServer>>()(
  "parley/test/Gemini"
) {}

/** The service with Gemini as its only model, by its own protocol. */
const app = catalogApp(
  Effect.gen(function* () {
    const gemini = yield* makeScriptedServer
    const config = yield* catalogConfig({
      providers: [
        {
          id: "gemini",
          protocol: "ai-sdk",
          package: "@ai-sdk/google",
          packageFolder: import.meta.dirname,
          baseUrl: gemini.url,
          keyVariable: "GEMINI_KEY"
        }
      ],
      models: [
        {
          id: "gemini-3-pro-preview",
          provider: "gemini",
          contextWindow: 32_000,
          maxOutputTokens: 400,
          tools: true,
          quality: 1,
          cost: 0
        }
      ]
    })
    const environment = ConfigProvider.fromEnvRecord({ GEMINI_KEY: "sesame" })
    const variables = Layer.succeed(ConfigProvider.ConfigProvider, environment)
    return Layer.mergeAll(Layer.succeed(Gemini, gemini), config, variables)
  })
)

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/openai/v1/responses`, { key: alice.key, body })
})

const answer = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post(body)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})

const said = (...parts: ReadonlyArray<object>): ScriptedReply => ({
  events: [
    {
      candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 }
    }
  ]
})

const tools = [
  {
    type: "function",
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } } }
  }
]

layer(app, { excludeTestServices: true })("through a package of the AI SDK", (it) => {
  it.effect(
    "a stored conversation gives Gemini back what it thought, and what it signed, in each later turn",
    () =>
      Effect.gen(function* () {
        const gemini = yield* Gemini
        const thought = { text: "I must ask.", thought: true, thoughtSignature: "SIG-T" }
        const functionCall = { name: "weather", args: { city: "Rome" } }
        yield* gemini.script(
          said(thought, { functionCall, thoughtSignature: "SIG-C" }),
          said({ text: "Sunny." }),
          said({ text: "Still sunny." })
        )
        const first = yield* answer({ input: "Weather in Rome?", tools })
        const called = first.output.flatMap((item) => (item.type === "function_call" ? [item] : []))
        assert.lengthOf(called, 1)
        const second = yield* answer({
          tools,
          previous_response_id: first.id,
          input: [{ type: "function_call_output", call_id: called[0]?.call_id, output: "sun" }]
        })
        assert.strictEqual(second.output_text, "Sunny.")
        const third = yield* answer({ tools, previous_response_id: second.id, input: "And now?" })
        assert.strictEqual(third.output_text, "Still sunny.")
        assert.strictEqual(third.usage?.input_tokens, 20)
        for (const { body, headers } of gemini.requests.slice(-2)) {
          const contents = body["contents"] as ReadonlyArray<{
            parts: ReadonlyArray<Record<string, unknown>>
          }>
          const parts = contents.flatMap((content) => content.parts)
          assert.deepInclude(parts, thought)
          assert.isDefined(
            parts.find((part) => part["thoughtSignature"] === "SIG-C" && "functionCall" in part)
          )
          assert.strictEqual(headers["x-goog-api-key"], "sesame")
        }
      })
  )

  it.effect("an option that the package has no field for is a 400 that names it", () =>
    Effect.gen(function* () {
      const refused = yield* post({ input: "hi", tools, parallel_tool_calls: false })
      assert.strictEqual(refused.status, 400, refused.text)
      assert.include(refused.text, '"param":"parallel_tool_calls"')
    })
  )

  it.effect("a failure of the server is one of the model, and names no package", () =>
    Effect.gen(function* () {
      const gemini = yield* Gemini
      const error = {
        code: 400,
        status: "INVALID_ARGUMENT",
        message: "Unable to process `temperature`: unsupported"
      }
      yield* gemini.script({ status: 400, body: JSON.stringify({ error }) })
      const refused = yield* post({ input: "hi", temperature: 0.3 })
      assert.strictEqual(refused.status, 400, refused.text)
      assert.include(refused.text, '"param":"temperature"')
    })
  )
})
