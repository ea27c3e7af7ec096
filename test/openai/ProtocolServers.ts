import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto } from "@effect/platform-node"
import { Context, Effect, Layer, References } from "effect"
import { FilesLayer, ProjectsLayer, RoomsLayer, ServiceLayer, ToolsLayer } from "../../src/App.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { cheapPasswords, TestApp } from "../support/TestApp.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

export const protocols = ["openai-chat", "openai-responses", "anthropic"] as const

/** Of each protocol a server with one model, which is named after it. */
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
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-protocols-"))),
    (directory) => Effect.sync(() => removeDirectory(directory))
  )
  const file = join(dataDir, "models.json")
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
  writeFileSync(file, JSON.stringify(catalog))
  return Layer.merge(
    Layer.succeed(Servers, servers),
    Layer.succeed(AppConfig, testConfig({ dataDir, models: { file } }))
  )
})

/** The service with a model server of each protocol. */
export const app = TestApp.layerNoDeps.pipe(
  Layer.provideMerge(ServiceLayer),
  Layer.provideMerge(ToolsLayer),
  Layer.provideMerge(ProjectsLayer),
  Layer.provideMerge(FilesLayer),
  Layer.provideMerge(RoomsLayer.pipe(Layer.provide(cheapPasswords))),
  Layer.provideMerge(Router.layer),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provideMerge(NodeCrypto.layer),
  Layer.provideMerge(Layer.unwrap(setUp)),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None")),
  Layer.orDie
)
