import { randomUUID } from "node:crypto"
import { readdirSync } from "node:fs"
import { Effect, Redacted } from "effect"
import { Migrator, type SqlClient } from "effect/sql"
import { inject } from "vitest"
import { Database } from "../../src/sql/Database.ts"
import { onServer, urlOfDatabase } from "./TestServer.ts"

/** An empty database, and a client of it. */
export const emptyDatabase = Effect.gen(function* () {
  const { url } = inject("testServer")
  const name = `parley_test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(onServer(url, `CREATE DATABASE ${name}`), () =>
    Effect.orDie(onServer(url, `DROP DATABASE ${name} WITH (FORCE)`))
  )
  const address = { url: Redacted.make(urlOfDatabase(url, name)) }
  const limits = { connectionsMax: 2, connectSeconds: 5, statementSeconds: 5 }
  return { address, client: Database.layerAddress(address, limits) }
})

export const migrationsDirectory = `${import.meta.dirname}/../../migrations`

/** Migrates as the version did whose newest migration has that number. */
export const migrateUntil = (newest: number) =>
  Effect.gen(function* () {
    const files = readdirSync(migrationsDirectory).filter((name) => Number.parseInt(name, 10) <= newest)
    const migrations = yield* Effect.forEach(files, (file) =>
      Effect.map(
        Effect.promise<{ default: Effect.Effect<unknown, unknown, SqlClient.SqlClient> }>(
          () => import(`${migrationsDirectory}/${file}`)
        ),
        (module) => [file.replace(/\.ts$/, ""), module.default] as const
      )
    )
    const loader = Migrator.fromRecord(Object.fromEntries(migrations))
    yield* Migrator.make({})({ loader, table: "effect_sql_migrations" })
  })
