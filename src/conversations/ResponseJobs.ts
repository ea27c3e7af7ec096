import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  type AnswerInProgress,
  type InvalidRequest,
  type ConversationNotFound,
  type DatabaseUnavailable,
  IdempotencyKeyReused,
  type ResponseNotLast,
  TooManyJobs
} from "../domain/Errors.ts"
import type { ApiKeyId, ConversationId, ResponseId, UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeJobLeases, makeLeaseEnd } from "./JobLeases.ts"
import { makeQuestionWrites, type NewQuestion } from "./QuestionWrites.ts"
import {
  columns,
  isShortened,
  type JobFailure,
  type JobLease,
  JobRow,
  type JobStatus,
  type QuestionFailure,
  requestBytesColumn,
  requestColumns,
  requestValues,
  type ResponseJob
} from "./ResponseJobRow.ts"

/** Batches of events that one statement reads. */
const batchesMax = 100

const BatchRow = Schema.Struct({ position: Schema.Int, events: Schema.Array(Schema.Unknown) })

const EventRow = Schema.Struct({ event: Schema.Unknown })

/** The events of responses in the background, in the table `response_events`. */
const makeEventLog = Effect.map(SqlClient.SqlClient, (sql) => {
  const append = Effect.fnUntraced(function* (
    { leaseFence, responseId }: JobLease,
    position: number,
    events: ReadonlyArray<unknown>,
    conversationId: ConversationId | null = null
  ) {
    const kept = yield* sql`WITH held AS (
        UPDATE response_jobs SET event_count = ${position + events.length}::int,
          conversation_id = coalesce(conversation_id, ${conversationId}::uuid)
        WHERE response_id = ${responseId}::uuid AND lease_fence = ${leaseFence}::int AND status = 'in_progress'
        RETURNING response_id
      ), written AS (
        INSERT INTO response_events (response_id, position, events)
        SELECT response_id, ${position}::int, ${JSON.stringify(events)}::json FROM held
        ON CONFLICT (response_id, position) DO NOTHING
      )
      SELECT response_id FROM held`
    return kept.length > 0
  }, orUnavailable)

  /** Batches begin where another one ends, so a position between two is the beginning of one. */
  const events = Effect.fnUntraced(function* (id: ResponseId, from: number) {
    const rows = yield* sql`SELECT position, events FROM response_events
      WHERE response_id = ${id}::uuid AND position >= ${from}::int ORDER BY position LIMIT ${batchesMax}`.pipe(
      rowsAs(BatchRow)
    )
    return rows.flatMap((row) => row.events)
  }, orUnavailable)

  const lastEvent = Effect.fnUntraced(function* (id: ResponseId) {
    const row = yield* sql`SELECT events -> -1 AS event FROM response_events
      WHERE response_id = ${id}::uuid ORDER BY position DESC LIMIT 1`.pipe(rowAs(EventRow))
    return row?.event
  }, orUnavailable)

  return { append, events, lastEvent }
})

export type { JobFailure, JobLease, JobStatus, ResponseJob } from "./ResponseJobRow.ts"

/** Responses of one user that wait or are being made, of all processes. */
export const openPerUserMax = 100
/** The time for which an ended job is known, with its events and its Idempotency-Key. */
const keptHours = 24
/** Jobs that one statement deletes. */
const deletedPerStepMax = 100
/** Jobs that one page of an export has, each with a request of up to 64 MiB. */
export const jobsPageRows = 4

const KeptRow = Schema.Struct({ ...JobRow.fields, bodyHash: Schema.NullOr(Schema.Uint8Array) })
const RequestRow = Schema.Struct({ request: Schema.Unknown })
const CountRow = Schema.Struct({ count: Schema.Int })

interface AskedQuestion extends NewQuestion {
  readonly kind: "question"
}

export interface NewJob {
  readonly responseId: ResponseId
  readonly userId: UserId
  readonly apiKeyId: ApiKeyId
  readonly background: boolean
  /** JSON that only the interface reads that runs the job, or a question. */
  readonly asked:
    | { readonly kind: "profile" | "chat" | "embeddings"; readonly request: unknown }
    | AskedQuestion
  /** SHA-256 of the Idempotency-Key, and of the body that was sent with it. */
  readonly key: { readonly hash: Uint8Array; readonly bodyHash: Uint8Array } | null
}

/** The end of a response whose request was answered by its own process. It has neither a run nor events. */
interface EndedResponse {
  readonly responseId: ResponseId
  readonly userId: UserId
  readonly apiKeyId: ApiKeyId
  readonly conversationId: ConversationId
  /** The request as a job has it, without its input. */
  readonly request: unknown
  /** Null where its client went away. */
  readonly failure: JobFailure | null
  readonly createdAt: DateTime.Utc
}

/** The last three are of questions. */
export type SubmitFailure =
  | IdempotencyKeyReused
  | TooManyJobs
  | DatabaseUnavailable
  | ConversationNotFound
  | AnswerInProgress
  | InvalidRequest
  | ResponseNotLast

/** Responses that are made apart from the request that asked for them, and the log of their events. */
export class ResponseJobs extends Context.Service<
  ResponseJobs,
  {
    /**
     * Creates a job: queued if it is for the background, and otherwise leased to this process. With a used
     * key, returns the job of its first use. A question is stored with its conversation.
     */
    readonly submit: (
      job: NewJob
    ) => Effect.Effect<{ readonly job: ResponseJob; readonly isNew: boolean }, SubmitFailure>
    /** Stores the end of a response that was no job, unless its turn is stored. */
    readonly keepEnd: (ended: EndedResponse) => Effect.Effect<void, DatabaseUnavailable>
    readonly find: (
      userId: UserId,
      id: ResponseId
    ) => Effect.Effect<ResponseJob | undefined, DatabaseUnavailable>
    /** Returns the whole request of a job, however long; undefined where the job was deleted. */
    readonly wholeRequest: (job: ResponseJob) => Effect.Effect<unknown, DatabaseUnavailable>
    /** Finds out if there are jobs to claim, of either kind. Changes nothing. */
    readonly look: Effect.Effect<
      { readonly isQueued: boolean; readonly isAbandoned: boolean },
      DatabaseUnavailable
    >
    /**
     * Leases the next job of the queue to this process: the oldest of the users with the fewest running jobs.
     */
    readonly claim: Effect.Effect<ResponseJob | undefined, DatabaseUnavailable>
    /** Leases a job whose process has ended without it. */
    readonly claimAbandoned: Effect.Effect<ResponseJob | undefined, DatabaseUnavailable>
    /** Renews leases, and returns those that are still held. */
    readonly renew: (
      leases: ReadonlyArray<JobLease>
    ) => Effect.Effect<ReadonlySet<ResponseId>, DatabaseUnavailable>
    /**
     * Appends events to the log, and stores the conversation if they name it; false if the lease was lost.
     * Can be repeated after a lost answer.
     */
    readonly append: (
      lease: JobLease,
      position: number,
      events: ReadonlyArray<unknown>,
      conversationId?: ConversationId | null
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Ends a job; false when the lease was lost. */
    readonly end: (
      lease: JobLease,
      status: JobStatus,
      failure?: JobFailure
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Puts a job back into the queue; false if it began too often, or if none of it may be repeated. */
    readonly requeue: (lease: JobLease) => Effect.Effect<boolean, DatabaseUnavailable>
    /**
     * Ends a job whose request was refused. Its key can be used again. Clients that wait for the job get the
     * failure. Its question stays, with the reason.
     */
    readonly refuse: (lease: JobLease, failure: JobFailure) => Effect.Effect<void, DatabaseUnavailable>
    /** Cancels a job that has not ended; false if it has ended. Its question stays, with the reason. */
    readonly cancel: (
      userId: UserId,
      id: ResponseId,
      reason: QuestionFailure
    ) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Deletes a job of any state with its events; a process that runs it loses the lease. */
    readonly delete: (userId: UserId, id: ResponseId) => Effect.Effect<boolean, DatabaseUnavailable>
    /** Events from a position on, in batches of bounded size. */
    readonly events: (
      id: ResponseId,
      from: number
    ) => Effect.Effect<ReadonlyArray<unknown>, DatabaseUnavailable>
    /** The last event of the log; undefined if it is empty. */
    readonly lastEvent: (id: ResponseId) => Effect.Effect<unknown, DatabaseUnavailable>
    /** Deletes some jobs that ended long ago, and returns how many. */
    readonly deleteOld: Effect.Effect<number, DatabaseUnavailable>
    /** Deletes some jobs of a user, and returns how many. */
    readonly eraseSome: (userId: UserId) => Effect.Effect<number, DatabaseUnavailable>
    /** Up to `jobsPageRows` jobs of a user, oldest first, with all their events. */
    readonly listOf: (
      userId: UserId,
      after?: ResponseId
    ) => Effect.Effect<
      ReadonlyArray<ResponseJob & { readonly events: ReadonlyArray<unknown> }>,
      DatabaseUnavailable
    >
  }
>()("parley/conversations/ResponseJobs") {
  static readonly layer = Layer.effect(
    ResponseJobs,
    Effect.gen(function* () {
      const submitting = yield* makeSubmit
      const leases = yield* makeJobLeases
      const owned = yield* makeOwned
      const log = yield* makeEventLog
      return ResponseJobs.of({ ...submitting, ...leases, ...owned, ...log })
    })
  )
}

/**
 * Ends every lease. Only for a process that shares the database with no other, before it runs its first job.
 */
export const endAllJobLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE response_jobs SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL`
})

const isSame = (one: Uint8Array | null, other: Uint8Array): boolean =>
  one !== null && Buffer.from(one).equals(other)

const makeSubmit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const leaseEnd = yield* makeLeaseEnd
  const all = sql.literal(`${columns}, ${requestColumns}`)
  const questions = yield* makeQuestionWrites

  const byKey = Effect.fnUntraced(function* (userId: UserId, { bodyHash, hash }: NonNullable<NewJob["key"]>) {
    const found = yield* sql`SELECT ${all}, body_hash FROM response_jobs
      WHERE user_id = ${userId}::uuid AND key_hash = ${Buffer.from(hash)}`.pipe(rowAs(KeptRow))
    if (found === undefined) return undefined
    return isSame(found.bodyHash, bodyHash) ? found : yield* new IdempotencyKeyReused()
  })

  const insert = ({ apiKeyId, asked, background, key, responseId, userId }: NewJob, request: unknown) => {
    const { bytes, short, text } = requestValues(asked.kind, request)
    return sql`INSERT INTO response_jobs
        (response_id, kind, conversation_id, user_id, api_key_id, background, status, request, request_bytes, short_request,
          key_hash, body_hash, lease_fence, lease_until, runs)
      VALUES (${responseId}::uuid, ${asked.kind}, ${asked.kind === "question" ? asked.conversationId : null}::uuid, ${userId}::uuid, ${apiKeyId}::uuid, ${background}::boolean,
        ${background ? "queued" : "in_progress"}, ${text}::json, ${bytes}::int, ${short}::json,
        ${key === null ? null : Buffer.from(key.hash)}::bytea, ${key === null ? null : Buffer.from(key.bodyHash)}::bytea,
        ${background ? 0 : 1}::int, ${background ? null : leaseEnd}, ${background ? 0 : 1}::int)
      RETURNING ${all}`.pipe(rowAs(JobRow))
  }

  const submit = Effect.fn("ResponseJobs.submit")(
    function* (job: NewJob) {
      // The second of two requests of one user must see the job that the first has created.
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`response_jobs/${job.userId}`}, 0))`
      const known = job.key === null ? undefined : yield* byKey(job.userId, job.key)
      if (known !== undefined) return { job: known, isNew: false }
      const open = yield* sql`SELECT count(*)::int AS count FROM response_jobs
        WHERE user_id = ${job.userId}::uuid AND ended_at IS NULL`.pipe(rowAs(CountRow))
      if ((open?.count ?? 0) >= openPerUserMax) return yield* new TooManyJobs({ jobsMax: openPerUserMax })
      const { asked, responseId, userId } = job
      const request =
        asked.kind === "question" ? yield* questions.keep(userId, responseId, asked) : asked.request
      const created = yield* insert(job, request)
      return created === undefined
        ? yield* Effect.die(new Error("A job was inserted and not returned."))
        : { job: created, isNew: true }
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  const find = Effect.fn("ResponseJobs.find")(
    (userId: UserId, id: ResponseId) =>
      sql`SELECT ${all} FROM response_jobs
        WHERE response_id = ${id}::uuid AND user_id = ${userId}::uuid`.pipe(rowAs(JobRow)),
    orUnavailable
  )
  const keepEnd = Effect.fn("ResponseJobs.keepEnd")(
    ({ apiKeyId, conversationId, createdAt, failure, request, responseId, userId }: EndedResponse) =>
      sql`INSERT INTO response_jobs
          (response_id, conversation_id, user_id, api_key_id, background, status, request, failure, created_at, ended_at)
        SELECT ${responseId}::uuid, ${conversationId}::uuid, ${userId}::uuid, ${apiKeyId}::uuid, false,
          ${failure === null ? "cancelled" : "failed"}::text, ${JSON.stringify(request)}::json,
          ${failure === null ? null : JSON.stringify(failure)}::json, ${DateTime.toDateUtc(createdAt)}::timestamptz, now()
        WHERE NOT EXISTS (SELECT FROM turns WHERE response_id = ${responseId}::uuid)
        ON CONFLICT (response_id) DO NOTHING`.pipe(Effect.asVoid),
    orUnavailable
  )
  return { submit, keepEnd, find }
})

const makeOwned = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const remove = Effect.fn("ResponseJobs.delete")(function* (userId: UserId, id: ResponseId) {
    const deleted = yield* sql`DELETE FROM response_jobs
      WHERE response_id = ${id}::uuid AND user_id = ${userId}::uuid RETURNING response_id`
    return deleted.length > 0
  }, orUnavailable)

  const deleteOld = Effect.gen(function* () {
    const deleted = yield* sql`DELETE FROM response_jobs WHERE response_id IN (
        SELECT response_id FROM response_jobs WHERE ended_at < now() - make_interval(hours => ${keptHours})
        ORDER BY ended_at LIMIT ${deletedPerStepMax} FOR UPDATE SKIP LOCKED
      ) RETURNING response_id`
    return deleted.length
  }).pipe(orUnavailable, Effect.withSpan("ResponseJobs.deleteOld"))

  const eraseSome = Effect.fn("ResponseJobs.eraseSome")(function* (userId: UserId) {
    const deleted = yield* sql`DELETE FROM response_jobs WHERE response_id IN (
        SELECT response_id FROM response_jobs WHERE user_id = ${userId}::uuid
        ORDER BY response_id LIMIT ${deletedPerStepMax}
      ) RETURNING response_id`
    return deleted.length
  }, orUnavailable)

  const wholeRequest = Effect.fn("ResponseJobs.wholeRequest")(
    (job: ResponseJob) =>
      isShortened(job)
        ? sql`SELECT request FROM response_jobs WHERE response_id = ${job.responseId}::uuid`.pipe(
            rowAs(RequestRow),
            Effect.map((row) => row?.request)
          )
        : Effect.succeed(job.request),
    orUnavailable
  )

  const ExportedRow = Schema.Struct({ ...JobRow.fields, events: Schema.Array(Schema.Unknown) })
  const listOf = Effect.fn("ResponseJobs.listOf")(
    (userId: UserId, after?: ResponseId) =>
      sql`SELECT ${sql.literal(columns)}, request, ${sql.literal(requestBytesColumn)}, coalesce((
          SELECT json_agg(events ORDER BY position) FROM response_events e
          WHERE e.response_id = response_jobs.response_id), '[]') AS events
        FROM response_jobs WHERE user_id = ${userId}::uuid
          AND ${after === undefined ? sql`true` : sql`response_id > ${after}::uuid`}
        ORDER BY response_id LIMIT ${jobsPageRows}`.pipe(rowsAs(ExportedRow)),
    orUnavailable
  )

  return { delete: remove, deleteOld, eraseSome, wholeRequest, listOf }
})
