import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { SqlError } from "effect/sql"
import { ConversationBusy } from "../../src/domain/Errors.ts"
import { orUnavailable } from "../../src/sql/orUnavailable.ts"

const unknown = (code: string) =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({
      cause: Object.assign(new Error("from the server"), { code }),
      operation: "query"
    })
  })

const fields = { cause: new Error("from the driver"), operation: "query" }

const notNow = [
  new SqlError.SqlError({ reason: new SqlError.ConnectionError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.StatementTimeoutError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.LockTimeoutError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.DeadlockError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.AuthenticationError({ ...fields, operation: "connect" }) }),
  // too_many_connections, disk_full, admin_shutdown, crash_shutdown, cannot_connect_now, io_error, idle
  // transaction, read-only
  ...["53300", "53100", "57P01", "57P02", "57P03", "58030", "25P03", "25006"].map(unknown)
]

const notLikeThis = [
  new SqlError.SqlError({ reason: new SqlError.SqlSyntaxError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.ConstraintError(fields) }),
  new SqlError.SqlError({ reason: new SqlError.UniqueViolation({ ...fields, constraint: "users_email" }) }),
  ...["22021", "22P02", "42P01", ""].map(unknown)
]

describe("orUnavailable", () => {
  it.effect.each(notNow)("orUnavailable makes a failure of the database a DatabaseUnavailable: %s", (error) =>
    Effect.gen(function* () {
      for (const failing of [Effect.fail(error), Effect.die(error)]) {
        const unavailable = yield* Effect.flip(orUnavailable(failing))
        assert.strictEqual(unavailable._tag, "DatabaseUnavailable")
        assert.strictEqual(unavailable.cause, error)
      }
    })
  )

  it.effect.each(notLikeThis)("orUnavailable makes a failure of the statement a defect: %s", (error) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(orUnavailable(Effect.fail(error)))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === error && Cause.hasDies(exit.cause))
    })
  )

  it.effect("orUnavailable makes a row that doesn't decode a defect", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(orUnavailable(Schema.decodeUnknownEffect(Schema.Int)("one")))
      assert.isTrue(Exit.hasDies(exit))
    })
  )

  it.effect("orUnavailable passes every other error on", () =>
    Effect.gen(function* () {
      const busy = new ConversationBusy({ waitedSeconds: 1 })
      assert.strictEqual(yield* Effect.flip(orUnavailable(Effect.fail(busy))), busy)
      assert.strictEqual(yield* orUnavailable(Effect.succeed(1)), 1)
      assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(orUnavailable(Effect.interrupt))))
    })
  )
})
