import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"
import { SqlError } from "effect/sql"
import { DatabaseUnavailable } from "../../src/domain/Errors.ts"
import { makeLogLines } from "../../src/telemetry/LogLines.ts"

const Line = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

const away = new SqlError.SqlError({
  reason: new SqlError.ConnectionError({
    cause: new Error("refused"),
    message: "connect ECONNREFUSED 127.0.0.1:5432",
    operation: "connect"
  })
})

/** The lines that the program writes. */
const linesOf = (program: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const output = { write: (line: string) => void lines.push(line), reportLost: () => {} }
    yield* Effect.provide(program, Logger.layer([makeLogLines(output)]))
    return yield* Effect.forEach(lines, (line) => Schema.decodeUnknownEffect(Line)(line))
  })

describe("a line of the log", () => {
  it.effect("a line of the log has one string as its message, whatever is logged", () =>
    Effect.gen(function* () {
      const cause = Effect.fail(new Error("broken")).pipe(Effect.tapCause(Effect.logWarning), Effect.ignore)
      const lines = yield* linesOf(
        Effect.all([
          Effect.logInfo("plain"),
          Effect.logWarning("with an error", new Error("broken")),
          Effect.logWarning("with a value", { a: 1 }),
          cause
        ])
      )
      assert.deepStrictEqual(
        lines.map(({ message }) => message),
        ["plain", "with an error: broken", 'with a value: {"a":1}', "broken"]
      )
      assert.match(String(lines[3]?.["cause"]), /broken[^]*at /)
    })
  )

  it.effect("a line of the log about the database has the sentence once, without a stack", () =>
    Effect.gen(function* () {
      const failing = Effect.fail(new DatabaseUnavailable({ cause: away })).pipe(
        Effect.tapCause(Effect.logWarning),
        Effect.ignore
      )
      const lines = yield* linesOf(
        Effect.all([
          failing,
          failing,
          Effect.logWarning("A job broke off", away),
          Effect.logWarning("A job broke off", away)
        ])
      )
      assert.deepStrictEqual(
        lines.map(({ cause, message }) => [message, cause]),
        [
          ["connect ECONNREFUSED 127.0.0.1:5432", undefined],
          ["A job broke off: connect ECONNREFUSED 127.0.0.1:5432", undefined]
        ]
      )
    })
  )

  it.effect("a line of the log has the same fields whether it holds an object or not", () =>
    Effect.gen(function* () {
      const scalars = { text: 'a \u2028 "b"', count: 1.5, isSet: true }
      const [plain, other] = yield* linesOf(
        Effect.all([
          Effect.annotateLogs(Effect.logInfo("one"), scalars),
          Effect.annotateLogs(Effect.logInfo("one"), { ...scalars, more: { a: 1 } })
        ])
      )
      assert.deepStrictEqual(plain?.["annotations"], scalars)
      assert.deepStrictEqual(other?.["annotations"], { ...scalars, more: { a: 1 } })
      assert.deepStrictEqual(Object.keys(plain ?? {}), Object.keys(other ?? {}))
    })
  )
})
