import { DateTime, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"

/** Rows of failed attempts that a sweep leaves; those without a failure for the longest time go first. */
const attemptRowsMax = 200_000
/** After this time no failure counts any more: see auth/AttemptRule. */
const forgottenHours = 24
const sweepEvery = "5 minutes"

/** Deletes what has no effect any more: failed attempts, sessions and links. */
export const sweepSignIns = Effect.fn("SignInSweep.sweep")(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const { sessionIdleSeconds, sessionSeconds } = (yield* AppConfig).console
  const now = yield* DateTime.now
  const before = (seconds: number) => DateTime.toDateUtc(DateTime.subtract(now, { seconds }))
  yield* sql`
    DELETE FROM sign_in_attempts
    WHERE charged_at < now() - make_interval(hours => ${forgottenHours})`
  yield* sql`
    DELETE FROM sign_in_attempts WHERE subject IN (
      SELECT subject FROM sign_in_attempts ORDER BY charged_at DESC OFFSET ${rowsMax}
    )`
  yield* sql`
    DELETE FROM sessions
    WHERE created_at <= ${before(sessionSeconds)} OR last_seen_at <= ${before(sessionIdleSeconds)}`
  yield* sql`DELETE FROM links WHERE expires_at <= ${DateTime.toDateUtc(now)}`
}, orUnavailable)

/** Sweeps every few minutes until the scope closes. Several processes may do so at once. */
export const sweepSignInsRegularly = sweepSignIns(attemptRowsMax).pipe(
  Effect.catchCause((cause) => Effect.logWarning("Expired sessions and links could not be deleted", cause)),
  Effect.delay(sweepEvery),
  Effect.repeat(Schedule.forever),
  Effect.forkScoped
)
