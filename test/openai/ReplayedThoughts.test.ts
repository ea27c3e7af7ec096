import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"

const dialects = ["moonshot", "deepseek", "generic"] as const

/** A server of each dialect with one model, which is named after it. */
class Servers extends Context.Service<
  Servers,
  Readonly<Record<(typeof dialects)[number], MockModelServer>>
>()("parley/test/ReplayedThoughts/Servers") {}

const app = catalogApp(
  Effect.gen(function* () {
    const servers = yield* Effect.all({
      moonshot: makeMockModelServer,
      deepseek: makeMockModelServer,
      generic: makeMockModelServer
    })
    const catalog = {
      providers: dialects.map((dialect) => ({
        id: dialect,
        protocol: "openai-chat",
        baseUrl: servers[dialect].url,
        dialect
      })),
      models: dialects.map((dialect) => ({
        id: `model-${dialect}`,
        provider: dialect,
        contextWindow: 16_000,
        maxOutputTokens: 400,
        tools: true,
        // With the model `auto` this one answers.
        quality: dialect === "moonshot" ? 1 : 0,
        cost: 0
      }))
    }
    return Layer.merge(Layer.succeed(Servers, servers), yield* catalogConfig(catalog))
  })
)

const called = {
  id: "call_1",
  type: "function",
  function: { name: "weather", arguments: "{}" }
}
const body = {
  tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
  messages: [
    { role: "user", content: "Weather?" },
    { role: "assistant", content: null, reasoning_content: "I look.", tool_calls: [called] },
    { role: "tool", tool_call_id: "call_1", content: "sun" }
  ]
}

/**
 * The model's messages in what its server was sent, by what they say of what it thought and by their calls.
 */
const sentWith = Effect.fnUntraced(function* (model: string, dialect: (typeof dialects)[number]) {
  const { alice, url } = yield* TestApp
  const { requests } = (yield* Servers)[dialect]
  const reply = yield* call(`${url}/openai/v1/chat/completions`, { key: alice.key, body: { ...body, model } })
  assert.strictEqual(reply.status, 200, reply.text)
  assert.isNull(reply.headers.get("x-ignored-fields"))
  const messages = requests.at(-1)?.body["messages"]
  assert(Array.isArray(messages))
  return messages
    .filter(({ role }) => role === "assistant")
    .map(({ reasoning_content, tool_calls }) => [reasoning_content, tool_calls?.length])
})

layer(app, { excludeTestServices: true })("reasoning_content that a client replays", (it) => {
  it.effect("replayed reasoning goes back to the named model where its server demands it only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sentWith("model-moonshot", "moonshot"), [["I look.", 1]])
      assert.deepStrictEqual(yield* sentWith("model-deepseek", "deepseek"), [["I look.", 1]])
      assert.deepStrictEqual(yield* sentWith("model-generic", "generic"), [[undefined, 1]])
    })
  )

  it.effect("replayed reasoning goes to no model that the client doesn't name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sentWith("auto", "moonshot"), [[undefined, undefined]])
    })
  )
})
