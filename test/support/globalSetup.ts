import { randomUUID } from "node:crypto"
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, Exit, FileSystem, Redacted, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { onServer, urlOfDatabase } from "./TestServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The server of this run, and the database on it that each test file's own is cloned from. */
    readonly testServer: { readonly url: string; readonly template: string }
  }
}

/** Every test file has a pool of its own, and some have several. */
const connectionsMax = 300

const embeddedServer = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-test-" })
  const { database, host, username } = yield* startEmbeddedPostgres({
    dataDir,
    connectionsMax,
    durable: false
  })
  return `postgres://${username}@localhost/${database}?host=${encodeURIComponent(host)}`
})

const setup = Effect.gen(function* () {
  const url = process.env["PARLEY_TEST_DATABASE_URL"] ?? (yield* embeddedServer)
  const template = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE DATABASE ${template}`), () =>
    Effect.orDie(onServer(url, `DROP DATABASE ${template} WITH (FORCE)`))
  )
  yield* migrate({ url: Redacted.make(urlOfDatabase(url, template)) })
  return { url, template }
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
