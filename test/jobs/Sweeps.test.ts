import { layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { sweepSignInsRegularly } from "../../src/auth/Sessions.ts"
import { sweepConversations } from "../../src/conversations/ConversationSweep.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { someUser } from "../conversations/fixtures.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

const shared = Layer.provideMerge(Layer.succeed(AppConfig, testConfig()), TestDatabase.layer)

/** Lets the time of one round pass after another, until the condition holds. */
const roundsUntil = <E, R>(round: "1 hour" | "5 minutes", condition: Effect.Effect<boolean, E, R>) =>
  until(Effect.andThen(TestClock.adjust(round), condition))

/**
 * Has a sweep meet a table that isn't there, which is no outage that would pass as one, and then the table
 * again.
 */
const survives = Effect.fnUntraced(function* <R>(
  sweep: Effect.Effect<unknown, never, R>,
  table: string,
  round: "1 hour" | "5 minutes"
) {
  const sql = yield* SqlClient.SqlClient
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
  yield* sql`ALTER TABLE ${sql(table)} RENAME TO away`
  yield* Effect.provide(sweep, Logger.layer([logger]))
  const hasFailed = Effect.sync(() => lines.some((line) => line.includes("could not be deleted")))
  yield* roundsUntil(round, hasFailed)
  yield* sql`ALTER TABLE away RENAME TO ${sql(table)}`
  const left = sql`SELECT 1 FROM ${sql(table)}`
  yield* roundsUntil(
    round,
    Effect.map(left, ({ length }) => length === 0)
  )
})

layer(shared)("A sweep whose statement the database refuses", (it) => {
  it.effect("a failed sweep of conversations goes on in its next round", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const user = yield* someUser
      yield* sql`INSERT INTO conversations (id, user_id, hidden, created_at)
        VALUES (gen_random_uuid(), ${user}::uuid, true, now() - interval '2 days')`
      yield* survives(sweepConversations, "conversations", "1 hour")
    })
  )

  it.effect("a failed sweep of sign-ins goes on in its next round", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO sign_in_attempts (subject, level, charged_at, blocked_until)
        VALUES ('one', 1, now() - interval '2 days', now())`
      yield* survives(sweepSignInsRegularly, "sign_in_attempts", "5 minutes")
    })
  )
})
