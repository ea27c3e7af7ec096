import { Effect, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** The age at which a hidden conversation without turns is deleted. */
const unusedHoursMax = 24
const sweepEvery = "1 hour"
/** Unused conversations that one statement deletes. */
const unusedPerStepMax = 500
/** Conversations that one statement deletes with their turns. */
const idlePerStepMax = 50
/** Turns that one statement deletes, except that its first conversation is deleted whole. */
const turnsPerStepMax = 1_000
const pauseMillis = 100

/** Deletes one batch of unused conversations, and returns how many. */
export const deleteUnusedBatch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const deleted = yield* sql`DELETE FROM conversations WHERE id IN (
      SELECT id FROM conversations
      WHERE hidden AND turn_count = 0 AND created_at < now() - make_interval(hours => ${unusedHoursMax})
        AND (lease_until IS NULL OR lease_until <= clock_timestamp())
      ORDER BY created_at LIMIT ${unusedPerStepMax} FOR UPDATE SKIP LOCKED
    ) RETURNING id`
  return deleted.length
})

/**
 * Deletes a batch of the hidden conversations that were last used more than `days` ago, oldest first, and
 * returns how many. A conversation with an open turn stays, and so does every one that its user sees in a
 * list.
 */
export const deleteIdleBatch = Effect.fnUntraced(function* (days: number) {
  const sql = yield* SqlClient.SqlClient
  const deleted = yield* sql`WITH idle AS (
      SELECT id, turn_count, updated_at FROM conversations
      WHERE hidden AND updated_at < now() - make_interval(days => ${days})
        AND (lease_until IS NULL OR lease_until <= clock_timestamp())
      ORDER BY updated_at LIMIT ${idlePerStepMax} FOR UPDATE SKIP LOCKED
    ), counted AS (
      SELECT id, sum(turn_count) OVER (ORDER BY updated_at, id) - turn_count AS turns_before FROM idle
    )
    DELETE FROM conversations USING counted
    WHERE conversations.id = counted.id AND turns_before < ${turnsPerStepMax} RETURNING conversations.id`
  return deleted.length
})

const sweepUnused = Effect.gen(function* () {
  while ((yield* deleteUnusedBatch) === unusedPerStepMax) yield* Effect.yieldNow
})

const sweepIdle = Effect.fnUntraced(function* (days: number) {
  if (days === 0) return
  while ((yield* deleteIdleBatch(days)) > 0) yield* Effect.sleep(pauseMillis)
})

/** Sweeps at the start and every hour until the scope closes. Several processes may do so at once. */
export const sweepConversations = Effect.gen(function* () {
  const { retentionDays } = (yield* AppConfig).conversations
  yield* Effect.andThen(sweepUnused, sweepIdle(retentionDays)).pipe(
    orUnavailable,
    Effect.catchCause((cause) => Effect.logWarning("Old conversations could not be deleted", cause)),
    Effect.repeat(Schedule.spaced(sweepEvery)),
    Effect.forkScoped
  )
})

const Counts = Schema.Tuple([Schema.Struct({ kept: Schema.Int, hidden: Schema.Int, idle: Schema.Int })])

/**
 * Counts the conversations, the hidden ones among them, and those that the next sweep will delete for their
 * age.
 */
export const countConversations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { retentionDays } = (yield* AppConfig).conversations
  const rows =
    yield* sql`SELECT count(*)::int AS kept, (count(*) FILTER (WHERE hidden))::int AS hidden, (count(*) FILTER (
      WHERE hidden AND ${retentionDays} > 0 AND updated_at < now() - make_interval(days => ${retentionDays})
    ))::int AS idle FROM conversations`
  const [counts] = yield* Schema.decodeUnknownEffect(Counts)(rows)
  return counts
})
