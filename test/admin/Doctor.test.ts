import { realpathSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { databaseCheck } from "../../src/admin/Doctor.ts"
import { DatabaseUnavailable } from "../../src/domain/Errors.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Database, reasonOf } from "../../src/sql/Database.ts"
import { testConfig } from "../support/TestConfig.ts"
import { until } from "../support/until.ts"
import { makeSearchServer, type SearchReply } from "../tools/search/SearchServer.ts"
import { AdminServer, clientWith } from "./AdminServer.ts"

it.effect("the check of a database that is down fails with the reason", () =>
  Effect.gen(function* () {
    const { detail, status } = yield* databaseCheck
    assert.strictEqual(status, "failed")
    assert.match(
      detail,
      /^The database does not answer: it is restarting\. Start it, or correct DATABASE_URL/
    )
  }).pipe(
    Effect.provideService(Database, {
      ping: Effect.void,
      facts: Effect.fail(new DatabaseUnavailable({ cause: new Error("it is restarting") })),
      address: { path: "/run/none", username: "parley", database: "parley" },
      isEmbedded: false
    }),
    Effect.provideService(AppConfig, testConfig())
  )
)

const searchCheck = Effect.gen(function* () {
  const { server } = yield* clientWith()
  const { checks } = yield* server.doctor()
  return checks.find(({ name }) => name === "web search")
})

const withSearchAt = (searchUrl: string) =>
  AdminServer.layerWith({ tools: { searchProvider: "searxng", searchUrl } })

const answering = (reply: SearchReply) =>
  Layer.unwrap(
    Effect.map(makeSearchServer, (server) => {
      server.next(reply)
      return withSearchAt(server.url)
    })
  )

layer(withSearchAt("http://127.0.0.1:9"), { excludeTestServices: true })(
  "the doctor, with a search server that is down",
  (it) => {
    it.effect("the doctor reports that nothing answers at the address of the search server", () =>
      Effect.gen(function* () {
        const check = yield* searchCheck
        assert.strictEqual(check?.status, "failed")
        assert.match(check?.detail ?? "", /127\.0\.0\.1:9 is asked.*can't be reached/)
      })
    )
  }
)

const found = { json: { results: [{ url: "https://example.org/", title: "Weather" }] } }

layer(answering(found), { excludeTestServices: true })("the doctor, with a search server", (it) => {
  it.effect("the doctor reports that a search was answered", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* searchCheck, { status: "ok" })
    })
  )
})

layer(answering({ json: { results: [] } }), { excludeTestServices: true })(
  "the doctor, with a search server without engines",
  (it) => {
    it.effect("the doctor warns that a search found nothing", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* searchCheck, { status: "warning" })
      })
    )
  }
)

layer(AdminServer.layer, { excludeTestServices: true })(
  "the doctor, with a missing table in the database",
  (it) => {
    it.effect("the doctor reports failed checks with the reason, and all others", () =>
      Effect.gen(function* () {
        const { server } = yield* clientWith()
        const before = yield* server.doctor()
        const sql = yield* SqlClient.SqlClient
        yield* sql`ALTER TABLE conversations RENAME TO conversations_elsewhere`
        const { checks } = yield* server.doctor()
        assert.deepStrictEqual(
          checks.map(({ name }) => name),
          before.checks.map(({ name }) => name)
        )
        const found = checks.find(({ name }) => name === "conversations")
        assert.strictEqual(found?.status, "failed")
        assert.match(found?.detail ?? "", /"conversations" does not exist \(SQLSTATE 42P01\)/)
      })
    )
  }
)

layer(AdminServer.layer, { excludeTestServices: true })(
  "the doctor, with the embedded database in another place",
  (it) => {
    it.effect("the doctor names the place of the embedded database", () =>
      Effect.gen(function* () {
        const { dataDir } = yield* AdminServer
        const { server } = yield* clientWith()
        const elsewhere = realpathSync(tmpdir())
        symlinkSync(elsewhere, join(dataDir, "postgres"))
        const { checks } = yield* server.doctor()
        const found = checks.find(({ name }) => name === "database")
        assert.include(found?.detail ?? "", `the embedded one in ${elsewhere},`)
      })
    )
  }
)

/** Ends the service's sessions, as a failover to a standby does. */
const failOver = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`SELECT current_database() AS name`
  yield* sql`ALTER DATABASE ${sql(rows[0]?.name ?? "")} SET default_transaction_read_only = on`
  yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`
  yield* Effect.ignore(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
})

layer(AdminServer.layer, { excludeTestServices: true })("a read-only database", (it) => {
  it.effect("a read-only database fails the readiness check and the doctor's check, with the remedy", () =>
    Effect.gen(function* () {
      const { ping } = yield* Database
      const { server } = yield* clientWith()
      yield* ping
      yield* failOver
      const readOnly = Effect.match(ping, {
        onFailure: (error) => reasonOf(error).includes("read-only"),
        onSuccess: () => false
      })
      yield* until(readOnly)
      const { checks } = yield* server.doctor()
      const found = checks.find(({ name }) => name === "database")
      assert.strictEqual(found?.status, "failed")
      assert.match(found?.detail ?? "", /read-only.*Name the primary/)
    })
  )
})
