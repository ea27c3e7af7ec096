import { writeFileSync } from "node:fs"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { plansFile } from "./plans/terms.ts"
import { startService } from "./support/ServiceProcess.ts"
import { TestDatabase } from "./support/TestDatabase.ts"
import { until } from "./support/until.ts"
import { call } from "./support/Wire.ts"

layer(Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer), { excludeTestServices: true })(
  "a process without a terminal",
  (it) => {
    it.effect(
      "a process without a terminal reads its plans again at SIGHUP, and keeps the former ones where the file has a fault",
      () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const file = yield* plansFile({ free: {} })
          const service = yield* startService({
            DATABASE_URL: Redacted.value((yield* TestDatabase).url),
            PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-hangup-" }),
            PARLEY_FILES_STORE: "postgres",
            PARLEY_PLANS_FILE: file
          })
          const url = yield* service.url
          const logged = (text: string) => until(Effect.sync(() => service.output().err.includes(text)))
          writeFileSync(file, JSON.stringify({ plans: { free: {}, gold: {} } }))
          yield* service.signal("SIGHUP")
          yield* logged("The plans and models were read again.")
          writeFileSync(file, "{")
          yield* service.signal("SIGHUP")
          yield* logged("The plans and models stay as they were. PARLEY_PLANS_FILE")
          assert.strictEqual((yield* call(`${url}/readyz`, {})).status, 200)
        }),
      120_000
    )
  }
)
