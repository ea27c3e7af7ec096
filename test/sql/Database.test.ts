import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../src/sql/Database.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"

layer(TestDatabase.layerFailing)("Database", (it) => {
  it.effect("answers", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const database = yield* Database
      yield* database.ping
      const rows = yield* sql`SELECT count(*)::int AS users_count FROM users`
      assert.deepStrictEqual(rows, [{ usersCount: 0 }])
      const faults = yield* SqlFaults
      yield* faults.failStatement(1, "before")
      const failed = yield* Effect.flip(sql`SELECT 1`)
      assert.strictEqual(failed.reason._tag, "ConnectionError")
      yield* sql`SELECT 1`
    })
  )
})
