import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import retention from "../../migrations/0010_retention.ts"
import { Database } from "../../src/sql/Database.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { onServer, urlOfDatabase } from "../support/TestServer.ts"

/** An empty database, and a client of it. */
const emptyDatabase = Effect.gen(function* () {
  const { url } = inject("testServer")
  const name = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE DATABASE ${name}`), () =>
    Effect.orDie(onServer(url, `DROP DATABASE ${name} WITH (FORCE)`))
  )
  const address = { url: Redacted.make(urlOfDatabase(url, name)) }
  const limits = { connectionsMax: 2, connectSeconds: 5, statementSeconds: 5 }
  return { address, client: Database.layerAddress(address, limits) }
})

const applied = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ name: string }>`SELECT migration_id, name FROM effect_sql_migrations ORDER BY migration_id`
)

describe("The migrations", () => {
  it.effect("are those in the directory, each once, and running them again changes nothing", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      yield* migrate(address)
      const rows = yield* Effect.provide(applied, client)
      const files = readdirSync(`${import.meta.dirname}/../../migrations`).toSorted()
      assert.deepStrictEqual(
        rows.map((row) => row.name),
        files.map((file) => file.replace(/^\d+_/, "").replace(/\.ts$/, ""))
      )
      assert.isNotEmpty(files)
    })
  )

  it.effect("are run by one of several processes that start at once, and all come up", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* Effect.all(
        Array.from({ length: 6 }, () => migrate(address)),
        { concurrency: "unbounded" }
      )
      assert.isNotEmpty(yield* Effect.provide(applied, client))
    })
  )

  it.effect("take the passages out of the searches that were stored with earlier turns", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      const id = randomUUID()
      const found = (text: string) => ({ file_id: id, filename: "a.md", score: 0.5, text, attributes: {} })
      const call = { id, type: "file_search_call", status: "completed", queries: ["why"] }
      const items = [
        { ...call, results: [found("passage one"), found("passage two")] },
        { ...call, results: null },
        { ...call, results: [] },
        { id, type: "message", role: "user", content: [{ type: "input_text", text: "passage" }] }
      ]
      const stored = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO organizations (id, name) VALUES (${id}::uuid, 'o')`
        yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${id}::uuid, ${id}::uuid, 'u')`
        yield* sql`INSERT INTO conversations (id, user_id, hidden) VALUES (${id}::uuid, ${id}::uuid, true)`
        yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
          VALUES (${id}::uuid, ${id}::uuid, ${id}::uuid, 0, 'm', 1)`
        for (const [position, item] of items.entries()) {
          yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item) VALUES
            (${id}::uuid, 'output', ${position}, ${id}::uuid, ${id}::uuid, ${JSON.stringify(item)}::json)`
        }
        yield* sql`DROP INDEX conversations_idle`
        yield* sql`ALTER TABLE files DROP COLUMN expires_at`
        yield* retention
        return yield* sql<{ item: unknown }>`SELECT item FROM items ORDER BY position`
      }).pipe(Effect.provide(client))
      assert.deepStrictEqual(
        stored.map(({ item }) => item),
        [{ ...call, results: [found(""), found("")] }, ...items.slice(1)]
      )
    })
  )

  it.effect("of a newer version are not touched by an older one", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9999, 'from_the_future')`
      ).pipe(Effect.provide(client))
      const error = yield* Effect.flip(migrate(address))
      assert.strictEqual(error._tag, "SchemaTooNew")
      assert.include(error.message, "9999")
    })
  )

  it.effect("that fail leave nothing behind, and say so", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      const sql = Effect.flatMap(SqlClient.SqlClient, (found) => found`CREATE TABLE turns (in_the_way int)`)
      yield* Effect.provide(sql, client)
      const error = yield* Effect.flip(migrate(address))
      assert.strictEqual(error._tag, "MigrationFailed")
      assert.match(error.message, /relation "turns" already exists \(SQLSTATE 42P07\)/)
      const tables = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (found) =>
          found<{
            name: string
          }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`
      ).pipe(Effect.provide(client))
      assert.deepStrictEqual(
        tables.map((table) => table.name),
        ["effect_sql_migrations", "turns"]
      )
      assert.deepStrictEqual(yield* Effect.provide(applied, client), [])
    })
  )

  it.effect("of a database that can't be reached fail without telling its password", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://someone:secret@127.0.0.1:1/none?sslmode=nonsense")
      const error = yield* Effect.flip(migrate({ url }))
      assert.strictEqual(error._tag, "MigrationFailed")
      assert.notInclude(error.message, "secret")
    })
  )
})
