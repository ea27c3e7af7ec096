import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer, type LogLevel, References, type Scope } from "effect"
import { RoomsLayer, ServiceLayer } from "../../src/App.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "./removeDirectory.ts"
import { cheapPasswords, TestApp } from "./TestApp.ts"
import { testConfig } from "./TestConfig.ts"
import { TestDatabase } from "./TestDatabase.ts"

/** The settings of a service whose models stand in a catalog. */
export const catalogConfig = Effect.fnUntraced(function* (
  catalog: object,
  models: Partial<Settings["models"]> = {}
) {
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-catalog-"))),
    (directory) => Effect.sync(() => removeDirectory(directory))
  )
  const file = join(dataDir, "models.json")
  writeFileSync(file, JSON.stringify(catalog))
  return Layer.succeed(AppConfig, testConfig({ dataDir, models: { ...models, file } }))
})

/**
 * The service with its own model calls, on what `setUp` makes: the settings, and the model servers that they
 * name.
 */
export const catalogApp = <Servers>(
  setUp: Effect.Effect<Layer.Layer<Servers | AppConfig>, never, Scope.Scope>,
  logLevel: LogLevel.LogLevel = "None"
) =>
  TestApp.layerNoDeps.pipe(
    Layer.provideMerge(ServiceLayer),
    Layer.provideMerge(FileStoreLayer),
    Layer.provideMerge(RoomsLayer.pipe(Layer.provide(cheapPasswords))),
    Layer.provideMerge(Router.layer),
    Layer.provideMerge(TestDatabase.layer),
    Layer.provideMerge(NodeCrypto.layer),
    Layer.provideMerge(Layer.unwrap(setUp)),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, logLevel)),
    Layer.orDie
  )
