import { Context, Effect, Layer } from "effect"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"

export const protocols = ["openai-chat", "openai-responses", "anthropic"] as const

/** A server of each protocol with one model, which is named after it. */
export class Servers extends Context.Service<
  Servers,
  Readonly<Record<(typeof protocols)[number], MockModelServer>>
>()("parley/test/Servers") {}

const setUp = Effect.gen(function* () {
  const servers = yield* Effect.all({
    "openai-chat": makeMockModelServer,
    "openai-responses": makeMockModelServer,
    anthropic: makeMockModelServer
  })
  const catalog = {
    providers: protocols.map((protocol) => ({ id: protocol, protocol, baseUrl: servers[protocol].url })),
    models: protocols.map((protocol) => ({
      id: `model-${protocol}`,
      provider: protocol,
      contextWindow: 16_000,
      maxOutputTokens: 400,
      tools: true,
      quality: 1,
      cost: 0
    }))
  }
  return Layer.merge(Layer.succeed(Servers, servers), yield* catalogConfig(catalog))
})

/** The service with a model server of each protocol. */
export const app = catalogApp(setUp)
