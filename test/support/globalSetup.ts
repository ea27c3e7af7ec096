import { randomUUID } from "node:crypto"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { scratchDirectory } from "./ScratchDirectory.ts"
import { buildOnce } from "./ServiceProcess.ts"
import { onServer, urlOfDatabase } from "./TestServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this run, and the database on it that each test file's own is cloned from. */
    readonly testServer: {
      readonly url: string
      readonly template: string
      readonly strategy: "file_copy" | "wal_log"
    }
  }
}

/** Every test file has a pool of its own, and some have several. */
const connectionsMax = 300

const embeddedServer = Effect.fnUntraced(function* (dataDir: string) {
  const { database, host, username } = yield* startEmbeddedPostgres({
    dataDir,
    connectionsMax,
    durable: false
  })
  return `postgres://${username}@localhost/${database}?host=${encodeURIComponent(host)}`
})

const setup = Effect.gen(function* () {
  const scratch = yield* scratchDirectory
  // The workers and their children use this directory for temporary files.
  process.env["TMPDIR"] = scratch.path
  // Most of what a process takes to start is the compiling of its code.
  process.env["NODE_COMPILE_CACHE"] = join(scratch.path, "compiled")
  const given = process.env["PARLEY_TEST_DATABASE_URL"]
  const inMemory = given === undefined && scratch.inMemory
  const url = given ?? (yield* embeddedServer(scratch.path))
  const template = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE DATABASE ${template}`), () =>
    Effect.orDie(onServer(url, `DROP DATABASE ${template} WITH (FORCE)`))
  )
  yield* migrate({ url: Redacted.make(urlOfDatabase(url, template)) })
  // Copying some hundred small files is the cheaper one where it writes to no disk.
  return { url, template, strategy: inMemory ? ("file_copy" as const) : ("wal_log" as const) }
})

/**
 * Builds the service unless it is built, and starts one PostgreSQL server for the whole run, unless
 * PARLEY_TEST_DATABASE_URL names one.
 */
export default async (project: TestProject) => {
  await buildOnce({ app: false })
  const scope = Scope.makeUnsafe()
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  try {
    const server = await Effect.runPromise(setup.pipe(Effect.provideService(Scope.Scope, scope)))
    project.provide("testServer", server)
  } catch (error) {
    await close()
    throw error
  }
  return close
}
