import { randomUUID } from "node:crypto"
import { accessSync, constants, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, Exit, FileSystem, Redacted, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"
import { migrate } from "../../src/sql/Migrations.ts"
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

/** Where Linux keeps files in memory. */
const memoryDirectory = "/dev/shm"
/** A container may give it no more than 64 MB; the databases that are in use at once need some 20 MB each. */
const memoryBytesMin = 2_000_000_000

const isMemoryRoomy = (): boolean => {
  try {
    accessSync(memoryDirectory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memoryDirectory)
    return bavail * bsize >= memoryBytesMin
  } catch {
    return false
  }
}

const embeddedServer = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const dataDir = yield* fs.makeTempDirectoryScoped({ directory, prefix: "parley-test-" })
  const { database, host, username } = yield* startEmbeddedPostgres({
    dataDir,
    connectionsMax,
    durable: false
  })
  return `postgres://${username}@localhost/${database}?host=${encodeURIComponent(host)}`
})

const setup = Effect.gen(function* () {
  const given = process.env["PARLEY_TEST_DATABASE_URL"]
  const inMemory = given === undefined && isMemoryRoomy()
  const url = given ?? (yield* embeddedServer(inMemory ? memoryDirectory : tmpdir()))
  const template = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE DATABASE ${template}`), () =>
    Effect.orDie(onServer(url, `DROP DATABASE ${template} WITH (FORCE)`))
  )
  yield* migrate({ url: Redacted.make(urlOfDatabase(url, template)) })
  // Copying some hundred small files is the cheaper one where it writes to no disk.
  return { url, template, strategy: inMemory ? ("file_copy" as const) : ("wal_log" as const) }
})

/** Starts one PostgreSQL server for the whole run, unless PARLEY_TEST_DATABASE_URL names one. */
export default async (project: TestProject) => {
  const scope = Scope.makeUnsafe()
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  try {
    const server = await Effect.runPromise(
      setup.pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(NodeFileSystem.layer))
    )
    project.provide("testServer", server)
  } catch (error) {
    await close()
    throw error
  }
  return close
}
