import { Deferred, Effect, Metric, Predicate, Schedule } from "effect"
import { describe, type Expected, type Failure } from "../api/Failure.ts"
import { errorEvent, type EventBody, isTerminal } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import {
  type JobFailure,
  type JobStatus,
  type ResponseJob,
  ResponseJobs
} from "../conversations/ResponseJobs.ts"
import { type StoredResponse, StoredResponses } from "../conversations/StoredResponses.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { cutOf } from "../domain/Conversation.ts"
import { ResponseInterrupted } from "../domain/Errors.ts"
import { itemEvents } from "../responses/generation/ItemEvents.ts"
import { storedResponse } from "../responses/generation/TurnDetails.ts"
import { responseJobs } from "../telemetry/Instruments.ts"
import { isEvent } from "./JobEvents.ts"
import type { JobLog, JobLost } from "./JobLog.ts"
import type { LiveEvents } from "./LiveEvents.ts"

/**
 * The events that a log lacks for a response that was stored before its last events were logged, without the
 * terminal one. A reader who has seen the log sees a whole stream with them. Source: wire contract,
 * section 2.
 */
export const missingEvents = (
  logged: ReadonlyArray<EventBody>,
  { output }: ResponseObject
): ReadonlyArray<EventBody> =>
  output.flatMap((item, index) => {
    const own = logged.filter((event) => "output_index" in event && event.output_index === index)
    const types = new Set(own.map(({ type }) => type))
    const sent = own.map((event) => ("delta" in event ? event.delta : "")).join("")
    return itemEvents(item, index)
      .map((event) => ("delta" in event ? { ...event, delta: event.delta.slice(sent.length) } : event))
      .filter((event) => !types.has(event.type) || ("delta" in event && event.delta !== ""))
  })

/** A job that this process runs. */
export interface JobRun {
  readonly job: ResponseJob
  /** Completes once the request is accepted. Fails if it is refused. */
  readonly accepted: Deferred.Deferred<void, Expected>
  /** Completes at the first event. Fails if the request is refused before it. */
  readonly begun: Deferred.Deferred<void, Expected>
  /** True while the request waits for acceptance: a refusal is its answer then, and the job is deleted. */
  readonly isAwaited: () => boolean
  /** Fails if another process has the job, or it was cancelled or deleted. */
  readonly lost: Deferred.Deferred<never, JobLost>
  /** Runs after each change that readers of the log wait for. */
  readonly onChange: Effect.Effect<void>
  /** Events for readers that don't wait for the log. */
  readonly live: LiveEvents
}

/**
 * The time for which the end of a job is retried while the database is unavailable; then its lease expires,
 * and any process ends it.
 */
const endMinutes = 10
const endRetries = Schedule.spaced("1 second").pipe(Schedule.upTo({ duration: `${endMinutes} minutes` }))

/** Retries a statement about a job while the database is unavailable. */
export const recorded = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, {
    schedule: endRetries,
    while: (error) => Predicate.isTagged(error, "DatabaseUnavailable")
  })

/** Pause before another run of a job whose database was unavailable. The pause doubles with each run. */
const againSecondsMin = 1
const againSeconds = ({ runs }: ResponseJob): number => againSecondsMin * 2 ** (runs - 1)

const failureOf = ({ body, headers, status }: Failure): JobFailure => ({ status, ...body, headers })

export const statusOf = (event: EventBody): JobStatus | null => {
  if (event.type !== "response.completed") return null
  return cutOf(event.response.incomplete_details) === null ? "completed" : "incomplete"
}

const completedEvent = (stored: StoredResponse): Extract<EventBody, { type: "response.completed" }> => ({
  type: "response.completed",
  response: storedResponse(stored)
})

/** The services that record the end of a job. */
const jobServices = Effect.gen(function* () {
  return { jobs: yield* ResponseJobs, stored: yield* StoredResponses }
})
type JobServices = Effect.Success<typeof jobServices>

/** Ends jobs, and removes the responses of those that were cancelled meanwhile. */
const makeEnds = ({ jobs, stored }: JobServices) => {
  /**
   * A response that was cancelled or deleted while its turn was being stored isn't shown and can't be
   * continued. In the web application such an answer stays, since it is complete.
   */
  const undo = Effect.fnUntraced(function* ({ kind, responseId, userId }: ResponseJob) {
    if (kind === "question") return
    const job = yield* recorded(jobs.find(userId, responseId))
    if (job !== undefined && job.status !== "cancelled") return
    yield* Effect.catchTag(recorded(stored.delete(userId, responseId)), "ResponseNotFound", () => Effect.void)
  })

  const end = Effect.fnUntraced(function* (job: ResponseJob, status: JobStatus, failure?: JobFailure) {
    const isOurs = yield* recorded(jobs.end(job, status, failure))
    yield* isOurs ? Metric.update(responseJobs.of(status), 1) : undo(job)
  })

  return { end, undo }
}

type Ends = ReturnType<typeof makeEnds>

/** Ends jobs that fail. */
const makeFail = ({ jobs, stored }: JobServices, { end }: Ends) => {
  /** Puts a job back into the queue if no reader has seen any event of it; false if it must fail. */
  const giveBack = Effect.fnUntraced(function* (
    { accepted, begun, job }: JobRun,
    log: JobLog,
    error: Expected
  ) {
    if (error._tag === "ServerShuttingDown" && log.written() === 0) return yield* recorded(jobs.requeue(job))
    // Requests in the foreground wait for their answer, and get the refusal.
    if (error._tag !== "DatabaseUnavailable" || !job.background) return false
    yield* Effect.sleep(`${againSeconds(job)} seconds`)
    if (!(yield* recorded(jobs.requeue(job)))) return false
    yield* Effect.all([Deferred.succeed(accepted, undefined), Deferred.succeed(begun, undefined)])
    return true
  })

  /** Ends a job that was refused before anything was generated, so that the request may be sent again. */
  const refuse = Effect.fnUntraced(function* (
    { accepted, begun, job }: JobRun,
    failed: Failure,
    error: Expected
  ) {
    const tell = Effect.all([Deferred.fail(accepted, error), Deferred.fail(begun, error)])
    // The request doesn't wait for the record, because the database is unavailable.
    if (error._tag === "DatabaseUnavailable") yield* tell
    yield* recorded(jobs.refuse(job, failureOf(failed)))
    yield* tell
  })

  /** The last event if the turn is stored: the failure may have come after its commit. Null if it isn't. */
  const committed = Effect.fnUntraced(function* ({ responseId, userId }: ResponseJob) {
    const found = yield* recorded(stored.find(userId, responseId)).pipe(
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(null))
    )
    return found === null ? null : completedEvent(found)
  })

  const fail = Effect.fnUntraced(function* (
    run: JobRun,
    log: JobLog,
    failed: Failure,
    error: Expected | null
  ) {
    const { accepted, begun, job, live } = run
    const access = yield* CurrentAccess
    if (access !== null) access.errorCode = failed.body.code
    if (error !== null && (yield* giveBack(run, log, error))) return
    if (log.written() === 0 && (!job.background || run.isAwaited()) && error !== null) {
      return yield* refuse(run, failed, error)
    }
    // The conversation was deleted, and the job is deleted with it.
    if (error?._tag === "TurnLeaseLost" && error.isDeleted === true) {
      yield* recorded(jobs.delete(job.userId, job.responseId))
      yield* Deferred.fail(begun, error)
      return
    }
    const last = errorEvent(failed.body)
    // Nothing more can be written soon, and readers don't wait for it.
    if (error?._tag === "DatabaseUnavailable") yield* live.add([last])
    const whole = yield* committed(job)
    yield* log.add([whole ?? last])
    yield* Effect.ignore(recorded(log.flush))
    yield* whole === null ? end(job, "failed", failureOf(failed)) : end(job, statusOf(whole) ?? "completed")
    if (error?._tag !== "DatabaseUnavailable") yield* live.add([whole ?? last])
    yield* Effect.all([Deferred.succeed(accepted, undefined), Deferred.succeed(begun, undefined)])
  })

  return fail
}

/** Usage is recorded when a run ends. The cost of a crashed run is in no record. */
const logAgain = ({ responseId, runs, userId }: ResponseJob) =>
  Effect.logWarning(
    "A response is generated again, because its process ended before its first event. The model's provider may bill both; the usage of the first is not recorded."
  ).pipe(Effect.annotateLogs({ responseId, user: userId, runs }))

const makeRecover = ({ jobs, stored }: JobServices, { end }: Ends) => {
  /** Appends events, unless an earlier recovery that broke off has done so. */
  const append = Effect.fnUntraced(function* (job: ResponseJob, events: ReadonlyArray<EventBody>) {
    const last = yield* jobs.lastEvent(job.responseId)
    if (isEvent(last) && isTerminal(last)) return
    yield* jobs.append(job, job.eventCount, events)
  })

  /** All events of the log. Those of one response are bounded by its tokens. */
  const loggedOf = Effect.fnUntraced(function* ({ responseId }: ResponseJob) {
    const logged: Array<unknown> = []
    for (;;) {
      const some = yield* jobs.events(responseId, logged.length)
      if (some.length === 0) return logged.filter(isEvent)
      for (const event of some) logged.push(event)
    }
  })

  /** Ends a job whose process crashed, or gives it back to the queue if nothing had been generated. */
  const recover = Effect.fn("JobRuns.recover")(function* (job: ResponseJob) {
    const found = yield* Effect.catchTag(stored.find(job.userId, job.responseId), "ResponseNotFound", () =>
      Effect.succeed(null)
    )
    if (found !== null) {
      const event = completedEvent(found)
      yield* append(job, [...missingEvents(yield* loggedOf(job), event.response), event])
      return yield* end(job, statusOf(event) ?? "completed")
    }
    if (yield* jobs.requeue(job)) return yield* logAgain(job)
    const failed = describe(new ResponseInterrupted())
    yield* append(job, [errorEvent(failed.body)])
    yield* end(job, "failed", failureOf(failed))
  })
  return recover
}

/** Ends jobs. */
export const makeJobEnds = Effect.map(jobServices, (services) => {
  const ends = makeEnds(services)
  return { ...ends, fail: makeFail(services, ends), recover: makeRecover(services, ends) }
})
