import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { removeDirectory } from "../support/removeDirectory.ts"
import { bundle, type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-browser-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

/** Settings of a service, or how to get them, such as from another server that is started for it. */
export type Variables =
  | Readonly<Record<string, string>>
  | Effect.Effect<Readonly<Record<string, string>>, never, Scope.Scope>

/** The service as `npm start` runs it, with the demo model, on an empty database and a free port. */
export class ServedApp extends Context.Service<
  ServedApp,
  {
    /** Without a slash at the end. */
    readonly url: string
    /** The output of the first start, such as the first key. */
    readonly output: ServiceProcess["output"]
    /** Kills the service, as a power cut would. */
    readonly kill: Effect.Effect<void>
    /** Starts it again at the same address; only after `kill`. */
    readonly startAgain: Effect.Effect<void>
  }
>()("parley/test/ServedApp") {
  /** `given` comes on top of the defaults. */
  static readonly layer = (given: Variables = {}) =>
    Layer.effect(
      ServedApp,
      Effect.gen(function* () {
        const { url: database } = yield* TestDatabase
        const scope = yield* Effect.scope
        const variables = {
          DATABASE_URL: Redacted.value(database),
          PARLEY_DATA_DIR: yield* directory,
          PARLEY_FILES_STORE: "postgres",
          ...(Effect.isEffect(given) ? yield* given : given)
        }
        const first = yield* startService(variables, bundle)
        const url = yield* first.url
        let running = first
        return ServedApp.of({
          url,
          output: first.output,
          kill: Effect.suspend(() => Effect.andThen(running.signal("SIGKILL"), running.exit)),
          startAgain: Effect.gen(function* () {
            running = yield* startService({ ...variables, PORT: new URL(url).port }, bundle)
            yield* running.url
          }).pipe(Scope.provide(scope))
        })
      })
    ).pipe(Layer.provideMerge(TestDatabase.clone))
}
