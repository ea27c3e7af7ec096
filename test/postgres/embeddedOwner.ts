import { Effect } from "effect"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"

/** A process that owns the embedded server of the data directory in its first argument until it is killed. */
const owner = Effect.scoped(
  Effect.gen(function* () {
    yield* startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", connectionsMax: 5, durable: true })
    process.stdout.write("ready\n")
    yield* Effect.never
  })
)

// The terminal's Ctrl-C reaches this process, which goes on; its server must do so too.
process.on("SIGINT", () => process.stdout.write("interrupted\n"))

Effect.runPromise(owner).catch((error: Error) => {
  process.stdout.write(`${error.message}\n`)
  process.exitCode = 1
})
