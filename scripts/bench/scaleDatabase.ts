import { NodeFileSystem, NodeRuntime } from "@effect/platform-node"
import { Effect } from "effect"
import { Client } from "pg"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"

/**
 * A PostgreSQL that several services share, in a process of its own so that its processor time is apart from
 * theirs. It counts statements with pg_stat_statements, and says on Node's channel in which directory its
 * socket is.
 *
 *     node scaleDatabase.ts DIRECTORY CONNECTIONS_MAX
 */

const [dataDir = ".", connectionsMax = "10"] = process.argv.slice(2)

/** Starts the server, executes the statement, and returns the directory of the socket. */
const startWith = Effect.fnUntraced(function* (statement: string) {
  const options = { dataDir, connectionsMax: Number(connectionsMax), durable: true }
  const { host } = yield* startEmbeddedPostgres(options)
  yield* Effect.promise(async () => {
    const client = new Client({ host, user: "parley", database: "postgres" })
    await client.connect()
    await client.query(statement)
    await client.end()
  })
  return host
})

const run = Effect.gen(function* () {
  // The library is only loaded by a start of the server.
  const preload = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'"
  yield* Effect.scoped(startWith(preload))
  process.send?.({ host: yield* startWith("CREATE EXTENSION pg_stat_statements") })
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

process.on("disconnect", () => process.kill(process.pid, "SIGTERM"))
NodeRuntime.runMain(run)
