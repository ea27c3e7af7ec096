import { createServer } from "node:http"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { serveOnLoopback } from "./support/serveOnLoopback.ts"
import { startService } from "./support/ServiceProcess.ts"
import { TestDatabase } from "./support/TestDatabase.ts"
import { call } from "./support/Wire.ts"

const shownKeys = (out: string) => [...new Set(out.match(/parley_[A-Za-z0-9]{20,}/g))]

/** The settings of a process that is to start on this file's database, in which there is no user. */
const variables = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { url } = yield* TestDatabase
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE organizations, users, api_keys CASCADE`
  return {
    DATABASE_URL: Redacted.value(url),
    PARLEY_FILES_STORE: "postgres",
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-first-key-" })
  }
})

const keysAndUsers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly keys: number; readonly users: number }>`
    SELECT (SELECT count(*) FROM api_keys)::int AS keys, (SELECT count(*) FROM users)::int AS users`
  return row
})

const takenPort = serveOnLoopback(createServer())

const slow = 120_000

const shownLinks = (out: string) => out.match(/http:\/\/\S+\/link#\S+/g) ?? []

layer(Layer.mergeAll(TestDatabase.layer, NodeFileSystem.layer), { excludeTestServices: true })(
  "the first key",
  (it) => {
    for (const setting of ["PORT", "PARLEY_METRICS_PORT"]) {
      it.effect(
        `the first key is shown by the next start after one that failed because ${setting} was taken`,
        () =>
          Effect.gen(function* () {
            const env = yield* variables
            const failed = yield* startService({ ...env, [setting]: String(yield* takenPort) })
            assert.strictEqual(yield* failed.exit, 1)
            assert.deepStrictEqual(shownKeys(failed.output().out), [])

            const service = yield* startService(env)
            const url = yield* service.url
            const keys = shownKeys(service.output().out)
            assert.strictEqual(keys.length, 1, service.output().out)
            const reply = yield* call(`${url}/v1/files`, { key: keys[0]! })
            assert.strictEqual(reply.status, 200)
            assert.deepStrictEqual(yield* keysAndUsers, { keys: 1, users: 1 })
          }),
        slow
      )
    }

    it.effect(
      "the first key is shown with its user, and later starts name that user in the command that creates another key",
      () =>
        Effect.gen(function* () {
          const env = { ...(yield* variables), PARLEY_INIT_USER_EMAIL: "owner@example.com" }
          const first = yield* startService(env)
          yield* first.url
          assert.match(first.output().out, /first API key, of owner@example\.com in the organization default/)
          const later = yield* startService(env)
          const url = yield* later.url
          assert.deepStrictEqual(shownKeys(later.output().out), [])
          assert.include(later.output().out, "npx parley key create owner@example.com --name NAME")
          // Each start shows a new link, as long as nobody has set up the web application.
          const [link, ...others] = shownLinks(later.output().out)
          assert.isEmpty(others)
          assert.strictEqual(shownLinks(first.output().out).length, 1)
          assert.notInclude(first.output().out, link!)
          assert.strictEqual(new URL(link!).port, new URL(url).port)
        }),
      slow
    )
  }
)
