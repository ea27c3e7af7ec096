import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import retention from "../../migrations/0010_retention.ts"
import inventedAnswers from "../../migrations/0031_invented_answers.ts"
import rounds from "../../migrations/0032_rounds.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { Links } from "../../src/auth/Links.ts"
import { ApiKeyId, UserId } from "../../src/domain/Ids.ts"
import { noKeyLimits } from "../../src/domain/KeyLimits.ts"
import { buildText, thisBuild } from "../../src/settings/Build.ts"
import { migrate, migrateRestored, newestKnown, plannedMigrations } from "../../src/sql/Migrations.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { emptyDatabase, migrateUntil, migrationsDirectory } from "../support/EmptyDatabase.ts"
import { commandLine } from "../support/ServiceProcess.ts"
import { until } from "../support/until.ts"

const applied = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ name: string }>`SELECT migration_id, name FROM effect_sql_migrations ORDER BY migration_id`
)

/** An id like the service's: it sorts by its number. */
const idOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`

/** Stores items as the output of a response. */
const storeAnswer = Effect.fnUntraced(function* (id: string, items: ReadonlyArray<{ readonly id: string }>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${id}::uuid, 'o')`
  yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${id}::uuid, ${id}::uuid, 'u')`
  yield* sql`INSERT INTO conversations (id, user_id, hidden) VALUES (${id}::uuid, ${id}::uuid, true)`
  yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
    VALUES (${id}::uuid, ${id}::uuid, ${id}::uuid, 0, 'm', 1)`
  for (const [position, item] of items.entries()) {
    yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item) VALUES
      (${id}::uuid, 'output', ${position}, ${item.id}::uuid, ${id}::uuid, ${JSON.stringify(item)}::json)`
  }
})

/**
 * Fills a database from before the web application: three users, the first of them disabled, keys and
 * usage.
 */
const fillBeforeAccounts = Effect.fnUntraced(function* (hash: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (id, name) VALUES (${idOf(1)}::uuid, 'one'), (${idOf(2)}::uuid, 'two')`
  for (const [number, organization] of [1, 2, 2].entries()) {
    const id = idOf(number)
    yield* sql`INSERT INTO users (id, organization_id, email, disabled_at) VALUES
      (${id}::uuid, ${idOf(organization)}::uuid, ${`user${number}@example.com`}, ${number === 0 ? new Date(0) : null})`
    yield* sql`INSERT INTO api_keys (id, user_id, name, hash, hint) VALUES
      (${id}::uuid, ${id}::uuid, 'a key', ${number === 2 ? hash : Buffer.from(id)}, 'abcd')`
    yield* sql`INSERT INTO usage_records (response_id, user_id, organization_id, key_id, model, input_tokens, output_tokens,
        source, outcome)
      VALUES (${id}::uuid, ${id}::uuid, ${idOf(organization)}::uuid, ${id}::uuid, 'm', 2, ${number}, 'provider', 'completed')`
    yield* sql`INSERT INTO token_counters (user_id, day, day_used, day_reserved, month, month_used, granted)
      VALUES (${id}::uuid, '2026-02-28', ${number}, 4, '2026-02-01', ${number + 10}, 3)`
    yield* sql`INSERT INTO token_reservations (response_id, part, user_id, day, month, tokens, expires_at)
      VALUES (${idOf(number + 3)}::uuid, 0, ${id}::uuid, '2026-02-28', '2026-02-01', 4, now())`
  }
})

describe("The migrations", () => {
  it.effect("the migrations are those in the directory, each once, and repeating them changes nothing", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      yield* migrate(address)
      const rows = yield* Effect.provide(applied, client)
      const files = readdirSync(migrationsDirectory).toSorted()
      assert.deepStrictEqual(
        rows.map((row) => row.name),
        files.map((file) => file.replace(/^\d+_/, "").replace(/\.ts$/, ""))
      )
      assert.isNotEmpty(files)
    })
  )

  it.effect("the migrations are run by one of several processes that start at once", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* Effect.all(
        Array.from({ length: 6 }, () => migrate(address)),
        { concurrency: "unbounded" }
      )
      assert.isNotEmpty(yield* Effect.provide(applied, client))
    })
  )

  it.effect("a migration removes the passages from the searches stored with earlier turns", () =>
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
        yield* storeAnswer(id, items)
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

  it.effect("a migration removes the texts that replaced answers without a text", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      const id = randomUUID()
      const message = (text: string) => ({
        role: "assistant",
        id,
        type: "message",
        content: [{ text, type: "output_text" }]
      })
      const quoted = 'He wrote "(No answer: the model wrote nothing.)"'
      const items = ["(No answer: the model wrote nothing.)", quoted, "(No answer: none.)"].map(message)
      const stored = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* storeAnswer(id, items)
        yield* inventedAnswers
        return yield* sql<{ item: string }>`SELECT item::text FROM items ORDER BY position`
      }).pipe(Effect.provide(client))
      assert.deepStrictEqual(
        stored.map(({ item }) => item),
        [message(""), ...items.slice(1)].map((item) => JSON.stringify(item))
      )
    })
  )

  it.effect("a migration records of earlier calls which were made at once", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      const call = (id: string, type = "function_call") => ({ type, name: "look", id })
      // The first two follow each other directly, over the end of the lower part of the counter; the others
      // stand alone.
      const one = "019845e1-682f-7b02-bfff-ffff22d13aec"
      const two = "019845e1-682f-7b03-8000-00003b2513ae"
      const later = "019845e1-682f-7b03-8000-00023b2613ae"
      const inNextMillisecond = "019845e1-6830-7b03-8000-00033b2713ae"
      const items = [
        call(one, "mcp_call"),
        call(two),
        { type: "message", id: randomUUID(), content: [] },
        call(later),
        call(inNextMillisecond)
      ]
      const stored = yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* storeAnswer(randomUUID(), items)
        yield* rounds
        return yield* sql<{ item: string }>`SELECT item::text FROM items ORDER BY position`
      }).pipe(Effect.provide(client))
      const named = [one, one, null, later, inNextMillisecond]
      assert.deepStrictEqual(
        stored.map(({ item }) => item),
        items.map((item, at) => JSON.stringify(named[at] === null ? item : { ...item, round: named[at] }))
      )
    })
  )

  it.effect("the migrations are refused while a move of the files beside a service is unfinished", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrateRestored(address, 37)
      const run = (statement: string) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(client))
      yield* run(
        "INSERT INTO file_store_binding (database_id, old_store_place) VALUES (gen_random_uuid(), 'a')"
      )
      const { message } = yield* Effect.flip(migrate(address))
      assert.include(message, 'run "parley file move" to its end with the version that began it')
      yield* run("UPDATE file_store_binding SET moved_at = now()")
      yield* migrate(address)
    })
  )

  it.effect("the migration to the web application makes the oldest enabled user the owner", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      const { hash, key } = yield* Effect.flatMap(KeyToken.makeKey, (made) =>
        Effect.map(KeyToken.hash(made), (hashed) => ({ key: made, hash: hashed }))
      ).pipe(Effect.provide(NodeCrypto.layer))
      yield* Effect.provide(Effect.andThen(migrateUntil(13), fillBeforeAccounts(hash)), client)
      yield* migrate(address)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { data } = yield* (yield* Accounts).listUsers()
        assert.deepStrictEqual(
          data.map(({ email, hasPassword, role }) => ({ email, hasPassword, role })),
          ["member", "owner", "member"].map((role, number) => ({
            email: `user${number}@example.com`,
            hasPassword: false,
            role
          }))
        )
        const links = yield* Links
        assert.isTrue(yield* links.isSetUpNeeded)
        assert.strictEqual((yield* links.setUp).email, "user1@example.com")
        const caller = yield* (yield* ApiKeys).authenticate(key)
        assert.deepInclude(caller, {
          userId: UserId.make(idOf(2)),
          keyId: ApiKeyId.make(idOf(2)),
          keyLimits: noKeyLimits
        })
        assert.deepStrictEqual(
          yield* sql`SELECT user_id, key_id, output_tokens FROM usage_records ORDER BY user_id`,
          [0, 1, 2].map((number) => ({ userId: idOf(number), keyId: idOf(number), outputTokens: number }))
        )
        assert.deepStrictEqual(
          yield* sql`SELECT owner_id, day_used::int, day_reserved::int, month_used::int FROM token_counters ORDER BY owner_id`,
          [0, 1, 2].map((number) => ({
            ownerId: idOf(number),
            dayUsed: number,
            dayReserved: 4,
            monthUsed: number + 10
          }))
        )
        assert.deepStrictEqual(
          yield* sql`SELECT user_id, key_id, tokens::int FROM token_reservations ORDER BY user_id`,
          [0, 1, 2].map((number) => ({ userId: idOf(number), keyId: null, tokens: 4 }))
        )
      }).pipe(Effect.provide(authLayer().pipe(Layer.provideMerge(client))))
    })
  )

  it.effect("the migrations of a newer version are not touched by an older one", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* migrate(address)
      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9999, 'from_the_future')`
      ).pipe(Effect.provide(client))
      const error = yield* Effect.flip(migrate(address))
      assert.strictEqual(error._tag, "SchemaTooNew")
      const own = buildText(thisBuild)
      const known = `but this build, parley ${own}, knows schemas up to ${newestKnown}: run`
      assert.include(error.message, `The database has schema 9999, ${known} a newer build, or restore`)
      yield* Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql`UPDATE effect_sql_migrations SET version = '0.2.0 (0123456789ab)' WHERE migration_id = 9999`
      ).pipe(Effect.provide(client))
      assert.include(
        (yield* Effect.flip(migrate(address))).message,
        `The database has schema 9999, written by parley 0.2.0 (0123456789ab), ${known} that build or a newer one, or restore`
      )
    })
  )

  it.effect("migrations leave a database unchanged when their process is killed, and run again", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* migrateUntil(16)
        const released = yield* Deferred.make<void>()
        // The 18th migration changes the table `links`, and waits for this reader of it.
        const reader = sql`LOCK TABLE links IN ACCESS SHARE MODE`.pipe(
          Effect.andThen(Deferred.await(released)),
          sql.withTransaction
        )
        const reading = yield* Effect.forkChild(reader)
        const child = spawn(process.execPath, [commandLine, "migrate"], {
          env: { ...childEnvironment, DATABASE_URL: Redacted.value(address.url) },
          stdio: "ignore"
        })
        const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        yield* until(Effect.map(waiting, (found) => found.length > 0))
        child.kill("SIGKILL")
        yield* Deferred.succeed(released, undefined)
        yield* Fiber.join(reading)
        const others = sql`SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`
        yield* until(Effect.map(others, (found) => found.length === 0))
        const before = yield* applied
        assert.strictEqual(before.at(-1)?.name, "key_limits")
        assert.isEmpty(yield* sql`SELECT FROM pg_tables WHERE tablename = 'identities'`)
        yield* migrate(address)
        assert.isNotEmpty(yield* sql`SELECT created_by FROM links UNION ALL SELECT NULL`)
      }).pipe(Effect.provide(client))
    })
  )

  it.effect("pending migrations are known without running them, and are reported as they run", () =>
    Effect.gen(function* () {
      const { address, client } = yield* emptyDatabase
      yield* Effect.provide(migrateUntil(17), client)
      const plan = yield* plannedMigrations(address)
      assert.deepInclude(plan, { before: 17, after: newestKnown })
      assert.strictEqual(plan.pending[0], "0018_link_creators")
      assert.strictEqual((yield* Effect.provide(applied, client)).at(-1)?.name, "identities")
      const told: Array<string> = []
      yield* migrate(address, (name) => Effect.sync(() => void told.push(name)))
      assert.deepStrictEqual(told, plan.pending)
      assert.deepStrictEqual(yield* plannedMigrations(address), {
        before: newestKnown,
        after: newestKnown,
        pending: []
      })
    })
  )

  it.effect("a migration that fails leaves nothing behind, and says so", () =>
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

  it.effect("migrations of a database that can't be reached fail without showing its password", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://someone:secret@127.0.0.1:1/none?sslmode=nonsense")
      const error = yield* Effect.flip(migrate({ url }))
      assert.strictEqual(error._tag, "MigrationFailed")
      assert.notInclude(error.message, "secret")
    })
  )
})
