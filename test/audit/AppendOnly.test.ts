import { randomUUID } from "node:crypto"
import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { inject } from "vitest"
import { Audit } from "../../src/audit/Audit.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { onServer, urlOfDatabase } from "../support/TestServer.ts"

const limits = { connectionsMax: 2, connectSeconds: 5, statementSeconds: 15 }

const servicesOver = (url: string) =>
  Layer.merge(Accounts.layer, Audit.layer).pipe(
    Layer.provide([termsLayer(), NodeCrypto.layer, Layer.succeed(AppConfig, testConfig())]),
    Layer.provideMerge(Database.layerAddress({ url: Redacted.make(url) }, limits))
  )

/** A role that owns nothing and may connect, for as long as the scope is open. */
const plainRole = Effect.gen(function* () {
  const { url } = inject("testServer")
  const name = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE ROLE ${name} LOGIN PASSWORD '${name}'`), () =>
    Effect.orDie(onServer(url, `DROP ROLE ${name}`))
  )
  return name
})

const as = (url: string, role: string): string => {
  const other = new URL(url)
  other.username = role
  other.password = role
  return other.href
}

const changing = (sql: SqlClient.SqlClient) => [
  sql`UPDATE audit_log SET target_name = 'somebody else'`,
  sql`DELETE FROM audit_log`,
  sql`TRUNCATE audit_log`,
  sql`INSERT INTO audit_log SELECT * FROM audit_log ON CONFLICT (id) DO UPDATE SET target_name = 'x'`
]

const messageOf = (statement: Effect.Effect<unknown, SqlError.SqlError>) =>
  Effect.map(Effect.flip(statement), ({ message }) => message)

layer(TestDatabase.clone)("The rows of the audit log", (it) => {
  it.effect("the rows of the audit log are changed by nobody, not even by the table's owner", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* (yield* Accounts).createOrganization("acme", "default")
        for (const statement of changing(sql)) {
          assert.match(yield* messageOf(statement), /audit log is append-only/)
          const asReplica = Effect.andThen(sql`SET LOCAL session_replication_role = replica`, statement)
          assert.match(yield* messageOf(sql.withTransaction(asReplica)), /audit log is append-only/)
        }
        const { data } = yield* (yield* Audit).list({})
        assert.deepStrictEqual(
          data.map(({ targetName }) => targetName),
          ["acme"]
        )
      }).pipe(Effect.provide(servicesOver(Redacted.value(url))))
    })
  )

  it.effect(
    "the rows of the audit log can be added and read by a role that doesn't own the table, and that has no right to change them",
    () =>
      Effect.gen(function* () {
        const { url: server } = inject("testServer")
        const role = yield* plainRole
        const name = `parley_test_${randomUUID().replaceAll("-", "")}`
        yield* Effect.acquireRelease(onServer(server, `CREATE DATABASE ${name}`), () =>
          Effect.orDie(onServer(server, `DROP DATABASE ${name} WITH (FORCE)`))
        )
        const owner = urlOfDatabase(server, name)
        yield* onServer(
          owner,
          `ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO ${role}`
        )
        yield* migrate({ url: Redacted.make(owner) })
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* (yield* Accounts).createOrganization("acme", "default")
          for (const statement of changing(sql)) {
            assert.match(yield* messageOf(statement), /permission denied for table audit_log/)
          }
          for (const trick of ["DISABLE TRIGGER append_only", "DISABLE TRIGGER ALL"]) {
            assert.match(yield* messageOf(sql.unsafe(`ALTER TABLE audit_log ${trick}`)), /must be owner/)
          }
          assert.match(yield* messageOf(sql`DROP TRIGGER append_only ON audit_log`), /must be owner/)
          assert.match(
            yield* messageOf(sql`CREATE OR REPLACE FUNCTION audit_log_is_append_only() RETURNS trigger
              LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`),
            /must be owner|permission denied for schema/
          )
          const { data } = yield* (yield* Audit).list({})
          assert.strictEqual(data.length, 1)
          // Every start does this.
          yield* migrate({ url: Redacted.make(as(owner, role)) })
        }).pipe(Effect.provide(servicesOver(as(owner, role))))
      })
  )
})
