import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted } from "effect"
import { bundle, type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-browser-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The service as `npm start` runs it, with the demo model, on an empty database and a free port. */
export class ServedApp extends Context.Service<
  ServedApp,
  {
    /** Without a slash at the end. */
    readonly url: string
    /** What the first start printed, such as the first key. */
    readonly output: ServiceProcess["output"]
  }
>()("parley/test/ServedApp") {
  /** `variables` come on top of the defaults. */
  static readonly layer = (variables: Readonly<Record<string, string>> = {}) =>
    Layer.effect(
      ServedApp,
      Effect.gen(function* () {
        const { url: database } = yield* TestDatabase
        const service = yield* startService(
          {
            DATABASE_URL: Redacted.value(database),
            PARLEY_DATA_DIR: yield* directory,
            PARLEY_FILES_STORE: "postgres",
            ...variables
          },
          bundle
        )
        return ServedApp.of({ url: yield* service.url, output: service.output })
      })
    ).pipe(Layer.provideMerge(TestDatabase.clone))
}
