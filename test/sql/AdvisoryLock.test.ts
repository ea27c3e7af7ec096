import { assert, layer } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { advisoryLocks, lockUntilCommit } from "../../src/sql/AdvisoryLock.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

layer(TestDatabase.layer)("Advisory locks", (it) => {
  it.effect("advisory locks are all different, so that none waits for another", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const names = Struct.keys(advisoryLocks)
      const held = yield* Effect.forEach(names, (name) => lockUntilCommit(sql, name)).pipe(
        Effect.andThen(
          sql`SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`
        ),
        sql.withTransaction
      )
      assert.lengthOf(held, names.length)
    })
  )
})
