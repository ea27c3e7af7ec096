import { NodeFileSystem, NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { Client } from "pg"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"

/**
 * A PostgreSQL that several services share, in a process of its own so that its processor time is apart from theirs. It
 * counts statements with pg_stat_statements, and says on Node's channel in which directory its socket is.
 *
 *     node scaleDatabase.ts DIRECTORY CONNECTIONS_MAX
 */

const [dataDir = ".", connectionsMax = "10"] = process.argv.slice(2)

const start = startEmbeddedPostgres({ dataDir, connectionsMax: Number(connectionsMax), durable: true })

const query = (host: string, text: string) =>
  Effect.promise(async () => {
    const client = new Client({ host, user: "parley", database: "postgres" })
    await client.connect()
    await client.query(text)
    await client.end()
  })

const countStatements = Effect.gen(function* () {
  const { host } = yield* start
  yield* query(host, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
}).pipe(Effect.scoped)

const run = Effect.gen(function* () {
  // The library is only loaded by a start of the server.
  yield* countStatements
  const { host } = yield* start
  yield* query(host, "CREATE EXTENSION pg_stat_statements")
  process.send?.({ host })
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

process.on("disconnect", () => process.kill(process.pid, "SIGTERM"))
NodeRuntime.runMain(run)
