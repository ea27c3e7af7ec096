import { Cause, Deferred, Effect, Exit, Stream, Clock, Predicate, Record } from "effect"
import { SecureRandom } from "effect/crypto"
import { describe, defect, type Expected } from "../api/Failure.ts"
import { type EventBody, isTerminal } from "../api/ResponseEvent.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { type JobStatus, type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { CurrentAccess, type AccessEntry, newAccessEntry } from "../domain/AccessEntry.ts"
import { CurrentUser } from "../domain/Account.ts"
import { outputWithoutPassages } from "../domain/Conversation.ts"
import { ResponseId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { logFailure } from "../http/ErrorBoundary.ts"
import { Responses } from "../responses/Responses.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { secondsBetween } from "../runtime/Monotonic.ts"
import { inTurns } from "../runtime/ProcessorTurns.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeEmbeddingRuns } from "./EmbeddingJobs.ts"
import { type JobRun, makeJobEnds, recorded, statusOf } from "./JobEnds.ts"
import { type JobLog, makeJobLog } from "./JobLog.ts"
import { JobRequests } from "./JobRequests.ts"

const millisPerSecond = 1_000

/** The fields of the log line, as for a request. Unknown ones are left out. */
const annotationsOf = (
  { background, responseId, runs, userId }: ResponseJob,
  { beganNanos, caller, conversationId, embeddings, errorCode, response }: AccessEntry,
  endNanos: bigint
): Readonly<Record<string, string | number | boolean>> =>
  Record.filter(
    {
      background,
      runs,
      durationMillis: Math.round(secondsBetween(beganNanos, endNanos) * millisPerSecond),
      outcome: response?.outcome ?? embeddings?.outcome ?? (errorCode === null ? "abandoned" : "failed"),
      errorCode,
      user: userId,
      key: caller?.keyId,
      organization: caller?.organizationId,
      conversation: conversationId,
      responseId,
      model: response?.model.id ?? embeddings?.model,
      provider: response?.model.provider ?? embeddings?.provider,
      inputTokens: response?.usage.inputTokens ?? embeddings?.inputTokens,
      outputTokens: response?.usage.outputTokens,
      usageSource: response?.usage.source,
      toolCalls: response?.toolCalls
    },
    Predicate.isNotNullish
  )

/** Writes one log line for each run of a background response, when the run has ended. */
const makeJobLine = Effect.gen(function* () {
  const { accessLog } = (yield* AppConfig).observability

  return (job: ResponseJob) =>
    <A, E, R>(run: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        const entry = newAccessEntry(yield* Clock.monotonicTimeNanos)
        const line = Effect.flatMap(Clock.monotonicTimeNanos, (endNanos) =>
          Effect.annotateLogs(Effect.logInfo("job"), annotationsOf(job, entry, endNanos))
        )
        return yield* run.pipe(
          Effect.provideService(CurrentAccess, entry),
          Effect.ensuring(accessLog ? line : Effect.void)
        )
      })
})

/** The event without the passages of a search, which readers get from their file and lose with it. */
const eventWithoutPassages = (event: EventBody): EventBody => {
  if ("item" in event) return { ...event, item: outputWithoutPassages(event.item) }
  return "response" in event
    ? { ...event, response: { ...event.response, output: event.response.output.map(outputWithoutPassages) } }
    : event
}

/** Writes events to the log, without passages unless readers see them. */
const writingOf =
  ({ kind }: ResponseJob, log: JobLog, showsPassages: boolean) =>
  (events: ReadonlyArray<EventBody>) => {
    const kept = showsPassages ? events : events.map(eventWithoutPassages)
    return kind === "question" ? log.put(kept) : log.add(kept)
  }

/** Runs jobs, and ends those of crashed processes. */
export const makeJobRuns = Effect.gen(function* () {
  const drain = yield* Drain
  const jobs = yield* ResponseJobs
  const keys = yield* ApiKeys
  const requests = yield* JobRequests
  const random = yield* SecureRandom.SecureRandom
  const responses = yield* Responses
  const withLine = yield* makeJobLine
  const { http } = yield* AppConfig
  // The bodies of jobs count separately from those of requests, some of which wait for jobs.
  const bodies = new FairPermits({ totalMax: http.bodiesBytesMax, perKeyMax: http.userBodyBytesMax })

  const { end, fail, recover, undo } = yield* makeJobEnds
  const embed = yield* makeEmbeddingRuns

  /**
   * Writes the events of the job to the log as they come. Returns the outcome, and the events for readers
   * after it.
   */
  const generate = Effect.fnUntraced(function* (current: JobRun, log: JobLog) {
    const { accepted, begun, job, live } = current
    yield* bodies.acquire(job.userId, job.requestBytes)
    const caller = yield* keys.callerOf(job.apiKeyId)
    const access = yield* CurrentAccess
    if (access !== null) access.caller = caller
    if (job.kind === "embeddings") {
      yield* Effect.provideService(embed(current), CurrentUser, caller)
      return { status: "completed" as const, last: [] }
    }
    const { demands, request, showsPassages } = yield* requests[job.kind](job)
    const started = yield* responses
      .create(request, {
        ...demands,
        responseId: job.responseId,
        createdAt: job.createdAt.epochMilliseconds,
        onAccepted: Effect.asVoid(Deferred.succeed(accepted, undefined)),
        // The usage of an earlier run is accounted for already.
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
    yield* read
    // The turn is stored.
    yield* recorded(log.flush)
    return { status, last }
  }, Effect.scoped)

  /** Runs a job to its end. Never fails. */
  const run = Effect.fn("JobRuns.run")(
    function* (current: JobRun) {
      const { job, live, lost, onChange } = current
      const log = yield* makeJobLog(job, onChange)
      yield* drain.admit.pipe(
        Effect.andThen(Effect.raceAllFirst([generate(current, log), drain.cutoff, Deferred.await(lost)])),
        // The job ends before the last event is sent, because a client may ask the next question right after
        // that event.
        Effect.flatMap(({ last, status }) => Effect.andThen(end(job, status), live.add(last))),
        Effect.catchTag("JobLost", () => undo(job)),
        Effect.catch((error: Expected) =>
          Effect.andThen(logFailure(error), fail(current, log, describe(error), error))
        ),
        Effect.catchCause((cause) =>
          // A failure here is one of recording the end. The lease expires then, and the job is recovered.
          Cause.hasInterruptsOnly(cause) || Cause.hasFails(cause)
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
        : Effect.logWarning(
            "A background response broke off. Its job is recovered when the lease expires.",
            exit.cause
          )
    ),
    (effect) => Effect.ignoreCause(effect),
    Effect.provideService(ResponseJobs, jobs)
  )

  return {
    run: (current: JobRun) => withLine(current.job)(inTurns(current.job.userId)(run(current))),
    recover
  }
})
