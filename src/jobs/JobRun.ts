import { Cause, Deferred, Effect, Exit, Metric, Option, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { describe, defect, type Expected, type Failure } from "../api/Failure.ts"
import { errorEvent, type EventBody, isTerminal } from "../api/ResponseEvent.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import {
  type JobFailure,
  type JobStatus,
  type ResponseJob,
  ResponseJobs
} from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { CurrentUser } from "../domain/Account.ts"
import { type RaisableAlarm, unless } from "../domain/Alarm.ts"
import { cutOf, outputWithoutPassages } from "../domain/Conversation.ts"
import { type DatabaseUnavailable, ResponseInterrupted } from "../domain/Errors.ts"
import { ResponseId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { logFailure } from "../http/ErrorBoundary.ts"
import { Responses } from "../responses/Responses.ts"
import { storedResponse } from "../responses/TurnDetails.ts"
import { responseJobs } from "../telemetry/Instruments.ts"
import { makeJobLine } from "./JobLine.ts"
import { type JobLog, type JobLost, makeJobLog } from "./JobLog.ts"
import { JobRequests } from "./JobRequests.ts"
import type { LiveEvents } from "./LiveEvents.ts"

/** A job that this process runs. */
export interface JobRun {
  readonly job: ResponseJob
  /** Completes once the request is accepted; fails where it is refused. */
  readonly accepted: Deferred.Deferred<void, Expected>
  /** Completes at the first event; fails where the request is refused before it. */
  readonly begun: Deferred.Deferred<void, Expected>
  /** Whether the request that asked for it waits to be accepted: a refusal is its answer then, and the job is forgotten. */
  readonly isAwaited: () => boolean
  /** Fails when the job is another process's, cancelled or deleted. */
  readonly lost: RaisableAlarm<JobLost>
  /** Run after each change that readers of the log wait for. */
  readonly onChange: Effect.Effect<void>
  /** For readers that don't wait for the log. */
  readonly live: LiveEvents
}

const failureOf = ({ body, headers, status }: Failure): JobFailure => ({ status, ...body, headers })

/** Passages that a search found are read from their file, and go with it. */
const eventWithoutPassages = (event: EventBody): EventBody => {
  if ("item" in event) return { ...event, item: outputWithoutPassages(event.item) }
  return "response" in event
    ? { ...event, response: { ...event.response, output: event.response.output.map(outputWithoutPassages) } }
    : event
}

const statusOf = (event: EventBody): JobStatus | null => {
  if (event.type !== "response.completed") return null
  return cutOf(event.response.incomplete_details) === null ? "completed" : "incomplete"
}

/** Writes events to the log: without passages, unless readers are shown them. */
const writingOf =
  ({ kind }: ResponseJob, log: JobLog, showsPassages: boolean) =>
  (events: ReadonlyArray<EventBody>) => {
    const kept = showsPassages ? events : events.map(eventWithoutPassages)
    return kind === "question" ? log.put(kept) : log.add(kept)
  }

/** Ends jobs, and undoes what they stored if they were cancelled meanwhile. */
const makeEndings = (jobs: ResponseJobs["Service"], stored: StoredResponses["Service"]) => {
  const end = Effect.fnUntraced(function* (job: ResponseJob, status: JobStatus, failure?: JobFailure) {
    const isOurs = yield* jobs.end(job, status, failure)
    if (isOurs) return yield* Metric.update(responseJobs.of(status), 1)
    // It was cancelled while its turn was being stored. In the web application such an answer stays, since it is complete.
    if (failure === undefined && job.kind === "profile")
      yield* Effect.ignore(stored.delete(job.userId, job.responseId))
  })

  /** What was cancelled while its turn was being stored isn't shown and can't be continued. */
  const undo = Effect.fnUntraced(function* ({ kind, responseId, userId }: ResponseJob) {
    const job = kind === "question" ? undefined : yield* jobs.find(userId, responseId)
    if (job?.status === "cancelled") yield* Effect.ignore(stored.delete(userId, responseId))
  })

  return { end, undo }
}

/** Runs jobs, and ends those of crashed processes. */
export const makeJobRuns = Effect.gen(function* () {
  const drain = yield* Drain
  const jobs = yield* ResponseJobs
  const keys = yield* ApiKeys
  const requests = yield* JobRequests
  const random = yield* SecureRandom.SecureRandom
  const responses = yield* Responses
  const stored = yield* StoredResponses
  const withLine = yield* makeJobLine

  const { end, undo } = makeEndings(jobs, stored)

  /** The events of the job as they come, in the log; the answer is how it ended, and what readers are to see after that. */
  const generate = Effect.fnUntraced(function* ({ accepted, begun, job, live }: JobRun, log: JobLog) {
    const { demands, request, showsPassages } = yield* requests[job.kind](job)
    const caller = yield* keys.callerOf(job.apiKeyId)
    const access = yield* CurrentAccess
    if (access !== null) access.caller = caller
    const started = yield* responses
      .create(request, {
        ...demands,
        responseId: job.responseId,
        createdAt: job.createdAt.epochMilliseconds,
        onAccepted: Effect.asVoid(Deferred.succeed(accepted, undefined)),
        // What an earlier run of it spent is accounted for already.
        ...(job.runs > 1 ? { accountId: ResponseId.make(yield* random.uuidV7()) } : {})
      })
      .pipe(Effect.provideService(CurrentUser, caller))
    let status: JobStatus = "failed"
    let last: ReadonlyArray<EventBody> = []
    const write = writingOf(job, log, showsPassages)
    const read = Stream.runForEachArray(started.events, (events) => {
      status = events.map(statusOf).findLast((one) => one !== null) ?? status
      last = events.filter(isTerminal)
      return live
        .add(events.filter((event) => !isTerminal(event)))
        .pipe(Effect.andThen(write(events)), Effect.andThen(Deferred.succeed(begun, undefined)))
    })
    yield* unless(started.lost)(read)
    yield* log.flush
    return { status, last }
  }, Effect.scoped)

  /** Refused before anything was generated, so that it may be asked again, or failed. */
  const fail = Effect.fnUntraced(function* (
    run: JobRun,
    log: JobLog,
    failed: Failure,
    error: Expected | null
  ) {
    const { accepted, begun, job, live } = run
    const isNothing = log.written() === 0
    const access = yield* CurrentAccess
    if (access !== null) access.errorCode = failed.body.code
    if (isNothing && error?._tag === "ServerShuttingDown" && (yield* jobs.requeue(job))) return
    if (isNothing && (!job.background || run.isAwaited()) && error !== null) {
      yield* jobs.refuse(job, failureOf(failed))
      yield* Deferred.fail(accepted, error)
      yield* Deferred.fail(begun, error)
      return
    }
    // Its conversation was deleted, and with it all that it said.
    if (error?._tag === "TurnLeaseLost" && error.isDeleted === true) {
      yield* jobs.delete(job.userId, job.responseId)
      yield* Deferred.fail(begun, error)
      return
    }
    const last = errorEvent(failed.body)
    // Nothing more can be written soon, and readers needn't wait for it.
    if (error?._tag === "DatabaseUnavailable") yield* live.add([last])
    yield* log.add([last])
    yield* Effect.ignore(log.flush)
    yield* end(job, "failed", failureOf(failed))
    if (error?._tag !== "DatabaseUnavailable") yield* live.add([last])
    yield* Effect.all([Deferred.succeed(accepted, undefined), Deferred.succeed(begun, undefined)])
  })

  /** Runs a job to its end, whatever that is. Never fails. */
  const run = Effect.fn("JobRuns.run")(
    function* (current: JobRun) {
      const { job, live, lost, onChange } = current
      const log = yield* makeJobLog(job, onChange)
      yield* drain.admit.pipe(
        Effect.andThen(unless(drain.cutoff, lost)(generate(current, log))),
        // Who sees the last event may ask the next question at once.
        Effect.flatMap(({ last, status }) => Effect.andThen(end(job, status), live.add(last))),
        Effect.catchTag("JobLost", () => undo(job)),
        Effect.catch((error: Expected) =>
          Effect.andThen(logFailure(error), fail(current, log, describe(error), error))
        ),
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : Effect.andThen(
                Effect.logError("An unhandled error ended a response in the background.", cause),
                fail(current, log, defect, null)
              )
        )
      )
    },
    Effect.scoped,
    Effect.onExit((exit) =>
      Exit.isSuccess(exit)
        ? Effect.void
        : Effect.logWarning("A response in the background was left.", exit.cause)
    ),
    (effect) => Effect.ignoreCause(effect),
    Effect.provideService(ResponseJobs, jobs)
  )

  return {
    run: (current: JobRun) => withLine(current.job)(run(current)),
    recover: makeRecover(jobs, stored, end)
  }
})

type End = (
  job: ResponseJob,
  status: JobStatus,
  failure?: JobFailure
) => Effect.Effect<void, DatabaseUnavailable>

const makeRecover = (jobs: ResponseJobs["Service"], stored: StoredResponses["Service"], end: End) => {
  const append = Effect.fnUntraced(function* (job: ResponseJob, event: EventBody) {
    yield* jobs.append(job, job.eventCount, [event])
  })

  /** Ends a job whose process crashed, or gives it back to the queue if nothing had been generated. */
  const recover = Effect.fn("JobRuns.recover")(function* (job: ResponseJob) {
    const found = yield* Effect.option(stored.find(job.userId, job.responseId))
    if (Option.isSome(found)) {
      const event: EventBody = { type: "response.completed", response: storedResponse(found.value) }
      yield* append(job, event)
      return yield* end(job, statusOf(event) ?? "completed")
    }
    if (yield* jobs.requeue(job)) return
    const failed = describe(new ResponseInterrupted())
    yield* append(job, errorEvent(failed.body))
    yield* end(job, "failed", failureOf(failed))
  })
  return recover
}
