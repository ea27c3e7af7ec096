import { layer, assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestDatabase } from "../support/TestDatabase.ts"
const limits = { connectionsMax: 2, connectSeconds: 1, statementSeconds: 1 }
layer(TestDatabase.clone)("A client", (it) => {
  it.effect(
    "waits",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const holding = (n: number) =>
          Effect.scoped(
            Effect.andThen(
              Effect.tap(sql.reserve, () => Effect.sync(() => console.log("reserved", n))),
              Effect.never
            )
          )
        const f = yield* Effect.forkChild(Effect.all([holding(1), holding(2)], { concurrency: 2 }), {
          startImmediately: true
        })
        yield* Effect.promise(() => new Promise((r) => setTimeout(r, 300)))
        console.log("asking")
        const error = yield* Effect.flip(sql`SELECT 1`)
        console.log(error.message)
      }).pipe(Effect.provide(TestDatabase.client(limits))),
    10000
  )
})
