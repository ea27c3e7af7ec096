import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import { meetsRequirements, problemOf } from "../../src/sql/ServerRequirements.ts"
import {
  behindRefusedParameters,
  behindSharedSession,
  behindStatementMode
} from "../support/SharedSession.ts"
import { testConfig } from "../support/TestConfig.ts"
import { onServer, urlOfDatabase } from "../support/TestServer.ts"

const limits = { connectionsMax: 2, connectSeconds: 5, statementSeconds: 5 }

const run = (statement: string) => onServer(inject("testServer").url, statement)

/** An empty database, made with these options. */
const database = Effect.fnUntraced(function* (options = "") {
  const name = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(run(`CREATE DATABASE ${name} ${options}`), () =>
    Effect.orDie(run(`DROP DATABASE ${name} WITH (FORCE)`))
  )
  return { name, url: Redacted.make(urlOfDatabase(inject("testServer").url, name)) }
})

/** Why the service does not start on the database. */
const refusal = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const config = Layer.succeed(AppConfig, testConfig({ database: { ...limits, url } }))
  const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(Database.layer, config))))
  assert.strictEqual(error._tag, "DatabaseUnsuitable", error.message)
  return error.message
})

describe("the service", () => {
  it.effect("the service accepts an empty database of a role that may create tables", () =>
    Effect.gen(function* () {
      yield* meetsRequirements({ url: (yield* database()).url }, limits)
    })
  )

  it.effect("the service refuses a database whose encoding isn't UTF8", () =>
    Effect.gen(function* () {
      const { url } = yield* database("ENCODING 'LATIN1' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
      assert.match(yield* refusal(url), /encoding LATIN1.*CREATE DATABASE parley ENCODING 'UTF8'/)
    })
  )

  it.effect("the service refuses a database that is read-only", () =>
    Effect.gen(function* () {
      const { name, url } = yield* database()
      yield* run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      assert.match(yield* refusal(url), /is read-only: it is a standby/)
    })
  )

  it.effect("the service refuses a role that may not create tables, and names the grant", () =>
    Effect.gen(function* () {
      const { name, url } = yield* database()
      const role = `${name}_role`
      yield* Effect.acquireRelease(run(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`), () =>
        Effect.orDie(run(`DROP ROLE ${role}`))
      )
      const limited = new URL(Redacted.value(url))
      limited.username = role
      limited.password = "secret"
      const message = yield* refusal(Redacted.make(limited.href))
      assert.include(message, `GRANT CREATE ON SCHEMA public TO "${role}"`)
      assert.notInclude(message, "secret")
    })
  )

  it.effect("the service refuses a pooler that gives one server session to several clients", () =>
    Effect.gen(function* () {
      const url = yield* behindSharedSession((yield* database()).url)
      assert.match(yield* refusal(url), /pooler in transaction mode, such as PgBouncer/)
    })
  )

  it.effect("the service names a pooler in statement mode, which ends sessions with transactions", () =>
    Effect.gen(function* () {
      const url = yield* behindStatementMode((yield* database()).url)
      assert.match(yield* refusal(url), /pooler in statement mode, such as PgBouncer/)
    })
  )

  it.effect("the service names all startup parameters where a pooler refuses one", () =>
    Effect.gen(function* () {
      const url = yield* behindRefusedParameters((yield* database()).url)
      const { message } = yield* Effect.flip(meetsRequirements({ url }, limits))
      assert.match(message, /unsupported startup parameter: statement_timeout/)
      assert.match(
        message,
        /statement_timeout, idle_in_transaction_session_timeout, default_transaction_isolation, jit, timezone\./
      )
    })
  )

  it("the service refuses a PostgreSQL before 15", () => {
    const facts = {
      version: "14.23",
      major: 14,
      encoding: "UTF8",
      readOnly: false,
      role: "parley",
      schema: "public",
      mayCreate: true
    }
    assert.strictEqual(problemOf(facts), "It is PostgreSQL 14.23, and the service needs 15 or newer.")
    assert.isNull(problemOf({ ...facts, version: "15.20", major: 15 }))
  })
})
