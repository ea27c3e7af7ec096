import { join } from "node:path"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { startService } from "./support/ServiceProcess.ts"
import { TestDatabase } from "./support/TestDatabase.ts"
import { until } from "./support/until.ts"
import { call } from "./support/Wire.ts"

/** A package that leaves a rejection as soon as it is loaded. */
const source = `
  Promise.reject(new RangeError("sesame"))
  export const createStray = () => ({
    languageModel: () => ({ specificationVersion: "v3", doStream: async () => ({}) })
  })
`

const catalog = {
  providers: [{ id: "stray", protocol: "ai-sdk", package: "stray" }],
  models: [
    {
      id: "m",
      provider: "stray",
      contextWindow: 8192,
      maxOutputTokens: 1024,
      tools: true,
      quality: 0.5,
      cost: 0.1
    }
  ]
}

layer(Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer), { excludeTestServices: true })(
  "a process with a package that leaves a rejection without a handler",
  (it) => {
    it.effect(
      "a process goes on after a stray rejection, and logs where it arose without its message",
      () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const folder = yield* fs.makeTempDirectoryScoped({ prefix: "parley-stray-" })
          const installed = join(folder, "node_modules", "stray")
          yield* fs.makeDirectory(installed, { recursive: true })
          yield* fs.writeFileString(
            join(installed, "package.json"),
            JSON.stringify({ name: "stray", exports: "./index.mjs" })
          )
          yield* fs.writeFileString(join(installed, "index.mjs"), source)
          yield* fs.writeFileString(join(folder, "models.json"), JSON.stringify(catalog))
          const service = yield* startService({
            DATABASE_URL: Redacted.value((yield* TestDatabase).url),
            PARLEY_DATA_DIR: join(folder, "data"),
            PARLEY_FILES_STORE: "postgres",
            PARLEY_MODELS_FILE: join(folder, "models.json")
          })
          const url = yield* service.url
          yield* until(Effect.sync(() => service.output().err.includes("left a rejection")))
          assert.match(service.output().err, /RangeError\n\s+at .*stray/)
          assert.notInclude(service.output().err, "sesame")
          assert.strictEqual((yield* call(`${url}/readyz`, {})).status, 200)
        }),
      120_000
    )
  }
)
