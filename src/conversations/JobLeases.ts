import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ResponseId, type UserId } from "../domain/Ids.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeQuestionWrites } from "./QuestionWrites.ts"
import {
  columns,
  type JobFailure,
  type JobLease,
  JobRow,
  type JobStatus,
  type QuestionFailure,
  requestColumns
} from "./ResponseJobRow.ts"

/** Responses in the background of one user that are being made at once, in all processes. */
export const runningPerUserMax = 8
/** Runs of a job whose processes die before anything was generated. */
const runsMax = 3
/** The most runs of a job with an Idempotency-Key: after a crash it is generated again only once. */
const keyedRunsMax = 2

const LookRow = Schema.Struct({ isQueued: Schema.Boolean, isAbandoned: Schema.Boolean })
const IdRow = Schema.Struct({ responseId: ResponseId })

export const makeLeaseEnd = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { leaseSeconds } = (yield* AppConfig).conversations
  return sql`clock_timestamp() + make_interval(secs => ${leaseSeconds})`
})

/** Statements that begin jobs and keep them. */
const makeClaims = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const leaseEnd = yield* makeLeaseEnd
  const jobColumns = sql.literal(
    [...columns.split(", ").map((name) => `j.${name}`), requestColumns].join(", ")
  )

  // Claims happen one after the other, so that the bound of a user holds.
  const oneAtATime = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    sql.withTransaction(
      Effect.andThen(sql`SELECT pg_advisory_xact_lock(hashtextextended('response_jobs', 0))`, effect)
    )

  const claim = sql`WITH busy AS (
      SELECT user_id, count(*) AS running FROM response_jobs
      WHERE ended_at IS NULL AND status = 'in_progress' AND background GROUP BY user_id
    ), next AS (
      SELECT response_id FROM response_jobs LEFT JOIN busy USING (user_id)
      WHERE ended_at IS NULL AND status = 'queued' AND coalesce(running, 0) < ${runningPerUserMax}
      ORDER BY coalesce(running, 0), response_id LIMIT 1
    )
    UPDATE response_jobs j SET status = 'in_progress', lease_fence = lease_fence + 1, lease_until = ${leaseEnd}, runs = runs + 1
    FROM next WHERE j.response_id = next.response_id RETURNING ${jobColumns}`.pipe(
    rowAs(JobRow),
    oneAtATime,
    orUnavailable,
    Effect.withSpan("ResponseJobs.claim")
  )

  const claimAbandoned = sql`WITH next AS (
      SELECT response_id FROM response_jobs
      WHERE ended_at IS NULL AND status = 'in_progress' AND lease_until <= clock_timestamp()
      ORDER BY response_id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE response_jobs j SET lease_fence = lease_fence + 1, lease_until = ${leaseEnd}
    FROM next WHERE j.response_id = next.response_id RETURNING ${jobColumns}`.pipe(
    rowAs(JobRow),
    orUnavailable,
    Effect.withSpan("ResponseJobs.claimAbandoned")
  )

  const renew = Effect.fnUntraced(function* (leases: ReadonlyArray<JobLease>) {
    const rows = yield* sql`UPDATE response_jobs j SET lease_until = ${leaseEnd}
      FROM unnest(${leases.map(({ responseId }) => responseId)}::uuid[], ${leases.map(({ leaseFence }) => leaseFence)}::int[])
        AS held (id, fence)
      WHERE j.response_id = held.id AND j.lease_fence = held.fence AND j.status = 'in_progress'
      RETURNING j.response_id`.pipe(rowsAs(IdRow))
    return new Set(rows.map(({ responseId }) => responseId))
  }, orUnavailable)

  const look = sql`SELECT
      EXISTS (SELECT FROM response_jobs WHERE ended_at IS NULL AND status = 'queued') AS is_queued,
      EXISTS (SELECT FROM response_jobs WHERE ended_at IS NULL AND status = 'in_progress'
        AND lease_until <= clock_timestamp()) AS is_abandoned`.pipe(
    rowAs(LookRow),
    Effect.map((row) => row ?? { isQueued: false, isAbandoned: false }),
    orUnavailable
  )

  return { look, claim, claimAbandoned, renew }
})

/** Statements that end jobs. */
const makeEnds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const questions = yield* makeQuestionWrites
  const held = ({ leaseFence, responseId }: JobLease) =>
    sql`response_id = ${responseId}::uuid AND lease_fence = ${leaseFence}::int AND status = 'in_progress'`

  const explained = (failure: QuestionFailure | undefined) =>
    failure === undefined ? sql.literal("") : sql`, explained AS (${questions.explain(failure, "ended")})`

  const end = Effect.fn("ResponseJobs.end")(function* (
    lease: JobLease,
    status: JobStatus,
    failure?: JobFailure
  ) {
    const ended = yield* sql`WITH ended AS (
        UPDATE response_jobs SET status = ${status}, lease_until = NULL, ended_at = now(),
          failure = ${failure === undefined ? null : JSON.stringify(failure)}::json
        WHERE ${held(lease)} RETURNING response_id, conversation_id
      )${explained(failure)}
      SELECT response_id FROM ended`
    return ended.length > 0
  }, orUnavailable)

  const requeue = Effect.fn("ResponseJobs.requeue")(function* (lease: JobLease) {
    const queued = yield* sql`UPDATE response_jobs SET status = 'queued', lease_until = NULL
      WHERE ${held(lease)} AND event_count = 0
        AND runs < CASE WHEN key_hash IS NULL THEN ${runsMax}::int ELSE ${keyedRunsMax}::int END RETURNING response_id`
    return queued.length > 0
  }, orUnavailable)

  const refuse = Effect.fn("ResponseJobs.refuse")(function* (lease: JobLease, failure: JobFailure) {
    yield* sql`WITH ended AS (
        UPDATE response_jobs SET status = 'failed', lease_until = NULL, ended_at = now(),
          failure = ${JSON.stringify(failure)}::json, key_hash = NULL, body_hash = NULL
        WHERE ${held(lease)} RETURNING response_id, conversation_id
      )${explained(failure)}
      SELECT FROM ended`
  }, orUnavailable)

  const cancel = Effect.fn("ResponseJobs.cancel")(function* (
    userId: UserId,
    id: ResponseId,
    reason: QuestionFailure
  ) {
    const cancelled = yield* sql`WITH ended AS (
        UPDATE response_jobs
        SET status = 'cancelled', lease_until = NULL, lease_fence = lease_fence + 1, ended_at = now()
        WHERE response_id = ${id}::uuid AND user_id = ${userId}::uuid AND ended_at IS NULL RETURNING response_id, conversation_id
      )${explained(reason)}
      SELECT response_id FROM ended`
    return cancelled.length > 0
  }, orUnavailable)

  return { end, requeue, refuse, cancel }
})

export const makeJobLeases = Effect.gen(function* () {
  return { ...(yield* makeClaims), ...(yield* makeEnds) }
})
