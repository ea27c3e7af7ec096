import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { makeMockModelServer } from "./MockModelServer.ts"
import { startService } from "./ServiceProcess.ts"
import { TestDatabase } from "./TestDatabase.ts"

/** Seconds until another process takes over the work of a killed process. */
const leaseSeconds = 5

const model = {
  id: "mock-model",
  provider: "mock",
  contextWindow: 8_000,
  maxOutputTokens: 2_000,
  tools: false,
  quality: 1,
  cost: 0
}

/** The services that `makeInstallation` needs: a database of the file's own, and its client. */
export const installationLayer = Layer.merge(TestDatabase.layer, NodeFileSystem.layer)

/**
 * A model server, and a way to start processes with these variables that use it, all on the database of the
 * file.
 */
export const makeInstallation = Effect.fnUntraced(function* (variables: Readonly<Record<string, string>>) {
  const fs = yield* FileSystem.FileSystem
  const upstream = yield* makeMockModelServer
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-installation-" })
  const provider = { id: "mock", protocol: "openai-chat", baseUrl: upstream.url }
  yield* fs.writeFileString(
    `${directory}/models.json`,
    JSON.stringify({ providers: [provider], models: [model] })
  )
  const { url } = yield* TestDatabase
  const start = Effect.gen(function* () {
    const service = yield* startService({
      DATABASE_URL: Redacted.value(url),
      PARLEY_DATA_DIR: `${directory}/data`,
      PARLEY_FILES_STORE: "postgres",
      PARLEY_MODELS_FILE: `${directory}/models.json`,
      PARLEY_TURN_LEASE_SECONDS: String(leaseSeconds),
      ...variables
    })
    return { ...service, address: yield* service.url }
  })
  return { upstream, start }
})
