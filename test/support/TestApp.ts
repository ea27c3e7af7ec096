import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { NodeCrypto } from "@effect/platform-node"
import { Context, DateTime, Effect, Layer, Redacted, References } from "effect"
import { HttpServer } from "effect/http"
import { RoomsLayer, ServiceLayer } from "../../src/App.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { PasswordCost } from "../../src/auth/PasswordHash.ts"
import { CurrentReaderProgram, readerProgram } from "../../src/documents/ReaderProcess.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import type { FileStore } from "../../src/files/FileStore.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import type { FileTexts } from "../../src/files/FileTexts.ts"
import type { StoreHealth } from "../../src/files/StoreHealth.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "./removeDirectory.ts"
import { ScriptedModel } from "./ScriptedModel.ts"
import { bundle } from "./ServiceProcess.ts"
import { type SettingsOverrides, testConfig } from "./TestConfig.ts"
import { TestDatabase } from "./TestDatabase.ts"

/** The lowest cost that Argon2id permits. */
export const cheapPasswords = Layer.succeed(PasswordCost, { memory: 8, passes: 1, parallelism: 1 })

/** Reader processes that start quickly. */
export const bundledReader = Layer.succeed(CurrentReaderProgram, readerProgram(pathToFileURL(bundle).href))

/** The settings, with a data directory of the test's own unless it names one. */
const layerConfig = (overrides: SettingsOverrides) =>
  Layer.effect(
    AppConfig,
    Effect.gen(function* () {
      if (overrides.dataDir !== undefined) return testConfig(overrides)
      const dataDir = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-app-"))),
        (directory) => Effect.sync(() => removeDirectory(directory))
      )
      return testConfig({ ...overrides, dataDir })
    })
  )

export interface TestUser {
  readonly id: UserId
  readonly email: string
  readonly key: string
}

/** The service on a free port, with two users who are strangers to each other. */
export class TestApp extends Context.Service<
  TestApp,
  {
    readonly url: string
    readonly alice: TestUser
    readonly bob: TestUser
  }
>()("parley/test/TestApp") {
  static readonly layerNoDeps = Layer.effect(
    TestApp,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const keys = yield* ApiKeys
      const server = yield* HttpServer.HttpServer
      const user = Effect.fnUntraced(function* (name: string) {
        const email = `${name}@example.test`
        yield* accounts.createOrganization(`${name}'s`, "default")
        const { id } = yield* accounts.createUser(email, `${name}'s`)
        const expiresAt = DateTime.add(yield* DateTime.now, { hours: 1 })
        const { key } = yield* keys.create({ userId: id, name: "test", expiresAt })
        return { id, email, key: Redacted.value(key) }
      })
      return TestApp.of({
        url: HttpServer.formatAddress(server.address),
        alice: yield* user("alice"),
        bob: yield* user("bob")
      })
    })
  )

  /** The service with scripted models and a database of its own. */
  static readonly layer = (overrides: SettingsOverrides = {}) =>
    TestApp.layerOn(TestDatabase.layer, overrides)

  /** The same on another kind of test database. */
  static readonly layerOn = <A, E>(
    database: Layer.Layer<A | Layer.Success<typeof TestDatabase.layer>, E>,
    overrides: SettingsOverrides = {}
  ) => TestApp.layerWith(database, FileStoreLayer, overrides)

  /** The same, and with another store of files. */
  static readonly layerWith = <A, E, B, E2>(
    database: Layer.Layer<A | Layer.Success<typeof TestDatabase.layer>, E>,
    files: Layer.Layer<B | FileStore | StoreHealth | FileTexts, E2, Layer.Services<typeof FileStoreLayer>>,
    overrides: SettingsOverrides = {},
    models: typeof ScriptedModel.layer = ScriptedModel.layer,
    // The tests provoke what would be logged; a test that is about the log gives its own.
    log: Layer.Layer<never> = Layer.succeed(References.MinimumLogLevel, "None")
  ) =>
    TestApp.layerNoDeps.pipe(
      Layer.provideMerge(ServiceLayer),
      Layer.provideMerge(files),
      Layer.provideMerge(RoomsLayer.pipe(Layer.provide(cheapPasswords))),
      Layer.provideMerge(models),
      Layer.provideMerge(database),
      Layer.provideMerge(NodeCrypto.layer),
      Layer.provideMerge(layerConfig(overrides)),
      Layer.provideMerge(log),
      Layer.provide(bundledReader),
      Layer.orDie
    )
}
