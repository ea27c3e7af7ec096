import { assert, describe, it } from "@effect/vitest"
import { SqlError } from "effect/sql"
import { DatabaseUnavailable, StorageFailed } from "../../src/domain/Errors.ts"
import { failureReason } from "../../src/runtime/failureReason.ts"

describe("The reason of a failure", () => {
  it("failureReason names every message from the outside in, and the system's code", () => {
    const refused = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" })
    const error = new Error("fetch failed", { cause: refused })
    assert.strictEqual(failureReason(error), "fetch failed: connect refused: ECONNREFUSED")
    assert.strictEqual(new StorageFailed({ operation: "put", cause: error }).message, failureReason(error))
  })

  it("failureReason names the first of several addresses that refused", () => {
    const several = new AggregateError([new Error("connect ECONNREFUSED ::1:9000")], "")
    assert.strictEqual(
      failureReason(new Error("fetch failed", { cause: several })),
      "fetch failed: connect ECONNREFUSED ::1:9000"
    )
  })

  it("failureReason quotes no value of a PostgreSQL error", () => {
    const cause = new Error('invalid input syntax for type uuid: "a value"')
    const sql = new SqlError.SqlError({
      reason: new SqlError.ConnectionError({ cause, operation: "query", message: "the server's sentence" })
    })
    const reason = failureReason(new DatabaseUnavailable({ cause: sql }))
    assert.include(reason, "the server's sentence")
    assert.notInclude(reason, "a value")
  })

  it("failureReason says so if no reason is known", () => {
    assert.strictEqual(failureReason(undefined), "no reason is known")
  })
})
