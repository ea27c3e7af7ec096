import {
  Cause,
  Context,
  Deferred,
  type Duration,
  Effect,
  Layer,
  Metric,
  Schedule,
  Scope,
  Stream
} from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { describe, type Expected } from "../api/Failure.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import {
  type NewJob,
  type ResponseJob,
  ResponseJobs,
  type SubmitFailure
} from "../conversations/ResponseJobs.ts"
import { CurrentUser } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  ResponseCancelled,
  type ResponseInterrupted,
  type ResponseNotFound
} from "../domain/Errors.ts"
import { ResponseId, type UserId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { responseJobs, responseJobsRunning } from "../telemetry/Instruments.ts"
import type { JobRun } from "./JobEnds.ts"
import { liveEvents, makeEnded, makeEvents } from "./JobEvents.ts"
import { JobLost } from "./JobLog.ts"
import { makeJobRuns } from "./JobRun.ts"
import { any, makeSignals, type Signals } from "./JobSignals.ts"
import { makeLiveEvents } from "./LiveEvents.ts"

/** Responses of the queue that one process makes at once. */
const runningMax = 32
/** Interval at which a process looks for jobs that another one queued, cancelled or left behind. */
const lookMillis = 1_000
/** Interval at which the queue is read while it appears to be empty. */
const idleMillis = 10_000
/** The time for which a background request waits to be accepted or refused; by then it is queued at least. */
export const AcceptWait = Context.Reference<Duration.Input>("parley/jobs/AcceptWait", {
  defaultValue: () => "1 second"
})
const sweepEvery = "1 hour"

/**
 * Makes responses independently of the requests that ask for them: in the background, and once for each
 * Idempotency-Key.
 */
export class BackgroundResponses extends Context.Service<
  BackgroundResponses,
  {
    /**
     * Queues a background response, or begins any other at once. With a used key, returns the response of its
     * first use.
     */
    readonly submit: (
      asked: NewJob["asked"],
      isBackground: boolean,
      key: string | null
    ) => Effect.Effect<ResponseJob, SubmitFailure, CurrentUser>
    /**
     * Waits a moment until the request is accepted, if this process begins it by then. Fails if the request
     * is refused.
     */
    readonly accepted: (job: ResponseJob) => Effect.Effect<void, Expected>
    /** Waits for the first event. Fails if the request is refused before it. */
    readonly begun: (job: ResponseJob) => Effect.Effect<void, Expected>
    /** Waits for the end of a job, as any process records it. */
    readonly ended: (job: ResponseJob) => Effect.Effect<ResponseJob, ResponseNotFound | DatabaseUnavailable>
    /** All events of a response, from the first one on, as any process writes them. */
    readonly events: (
      job: ResponseJob
    ) => Stream.Stream<EventBody, ResponseCancelled | ResponseNotFound | DatabaseUnavailable>
    /** The events of a job, directly and not by the log if this process makes the response. */
    readonly follow: (
      job: ResponseJob
    ) => Stream.Stream<
      EventBody,
      ResponseCancelled | ResponseNotFound | ResponseInterrupted | DatabaseUnavailable
    >
    /** Stops a response that has not ended; false if there is no such response. */
    readonly cancel: (userId: UserId, id: ResponseId) => Effect.Effect<boolean, DatabaseUnavailable>
  }
>()("parley/jobs/BackgroundResponses") {
  static readonly layer = Layer.effect(
    BackgroundResponses,
    Effect.gen(function* () {
      const digest = yield* Digest.Digest
      const jobs = yield* ResponseJobs
      const random = yield* SecureRandom.SecureRandom
      const process = yield* makeProcess

      const hashOf = (text: string) =>
        Effect.orDie(digest.digest(Digest.sha256, new TextEncoder().encode(text)))

      const submit = Effect.fn("BackgroundResponses.submit")(function* (
        asked: NewJob["asked"],
        isBackground: boolean,
        key: string | null
      ) {
        const { keyId, userId } = yield* CurrentUser
        const { isNew, job } = yield* jobs.submit({
          responseId: ResponseId.make(yield* random.uuidV7()),
          userId,
          apiKeyId: keyId,
          background: isBackground,
          asked,
          key:
            key === null
              ? null
              : { hash: yield* hashOf(key), bodyHash: yield* hashOf(JSON.stringify(bodyOf(asked))) }
        })
        if (isNew) yield* process.added(job)
        return job
      })

      const cancel = Effect.fn("BackgroundResponses.cancel")(function* (userId: UserId, id: ResponseId) {
        const isCancelled = yield* jobs.cancel(userId, id, describe(new ResponseCancelled()).body)
        if (isCancelled) {
          yield* Metric.update(responseJobs.of("cancelled"), 1)
          yield* process.stop(id)
        }
        return isCancelled
      })

      const events = makeEvents(jobs, process.changed)

      return BackgroundResponses.of({
        submit,
        cancel,
        accepted: process.accepted,
        begun: process.begun,
        ended: makeEnded(jobs, process.changed),
        events,
        follow: process.follow(events)
      })
    })
  )
}

/** The part that a repeated request must have in common with the first one. */
const bodyOf = (asked: NewJob["asked"]): unknown => (asked.kind === "profile" ? asked.request : asked)

/** Requests for the background that wait until they are accepted or refused. */
const makeAccepting = Effect.map(AcceptWait, (wait) => {
  const waiting = new Map<ResponseId, Deferred.Deferred<void, Expected>>()
  return {
    begin: (id: ResponseId) =>
      Effect.map(Deferred.make<void, Expected>(), (one) => {
        waiting.set(id, one)
      }),
    of: (id: ResponseId) => waiting.get(id),
    accepted: ({ responseId }: ResponseJob) =>
      Effect.suspend(() => {
        const one = waiting.get(responseId)
        return one === undefined ? Effect.void : Deferred.await(one)
      }).pipe(
        Effect.timeoutOption(wait),
        Effect.ensuring(Effect.sync(() => waiting.delete(responseId))),
        Effect.asVoid
      )
  }
})

/** The jobs that this process runs, and its share of the queue. */
const makeProcess = Effect.gen(function* () {
  const jobs = yield* ResponseJobs
  const { recover, run } = yield* makeJobRuns
  const scope = yield* Scope.Scope
  const accepting = yield* makeAccepting
  const runs = new Map<ResponseId, JobRun>()
  const { changed, notify } = makeSignals()
  const queued = makeSignals()

  const start = Effect.fnUntraced(function* (job: ResponseJob) {
    const id = job.responseId
    const current: JobRun = {
      job,
      accepted: accepting.of(id) ?? (yield* Deferred.make<void, Expected>()),
      isAwaited: () => accepting.of(id) !== undefined,
      begun: yield* Deferred.make<void, Expected>(),
      lost: yield* Deferred.make<never, JobLost>(),
      onChange: notify(id),
      live: makeLiveEvents()
    }
    runs.set(id, current)
    yield* Metric.update(responseJobsRunning.of(), runs.size)
    yield* run(current).pipe(
      Effect.ensuring(
        Effect.suspend(() => {
          // Another run of the job may have begun meanwhile.
          if (runs.get(id) === current) runs.delete(id)
          return Effect.all([
            Metric.update(responseJobsRunning.of(), runs.size),
            current.live.end,
            // The job may have been lost before its first event.
            Deferred.succeed(current.begun, undefined),
            notify(id),
            queued.notify(any)
          ])
        })
      ),
      Effect.forkIn(scope, { startImmediately: true })
    )
  })

  const stop = Effect.fnUntraced(function* (id: ResponseId) {
    const current = runs.get(id)
    if (current !== undefined) yield* Deferred.fail(current.lost, new JobLost())
    yield* notify(id)
  })

  yield* keepWorking({ runs, queued, recover, start, stop })

  const added = Effect.fnUntraced(function* (job: ResponseJob) {
    if (!job.background) return yield* start(job)
    yield* accepting.begin(job.responseId)
    yield* queued.notify(any)
  })
  const begun = ({ responseId }: ResponseJob) =>
    Effect.suspend(() => {
      const current = runs.get(responseId)
      return current === undefined ? Effect.void : Deferred.await(current.begun)
    })
  const follow =
    (events: BackgroundResponses["Service"]["events"]): BackgroundResponses["Service"]["follow"] =>
    (job) =>
      Stream.suspend(() => {
        const current = runs.get(job.responseId)
        return current === undefined ? events(job) : liveEvents(current.live, jobs, job)
      })
  return { added, accepted: accepting.accepted, begun, stop, changed, follow }
})

/**
 * Begins queued jobs, renews the leases of running ones, ends those of dead processes, and deletes old ones.
 */
const keepWorking = Effect.fnUntraced(function* ({
  queued,
  recover,
  runs,
  start,
  stop
}: {
  readonly runs: ReadonlyMap<ResponseId, JobRun>
  readonly queued: Signals
  readonly recover: Effect.Success<typeof makeJobRuns>["recover"]
  readonly start: (job: ResponseJob) => Effect.Effect<void>
  readonly stop: (id: ResponseId) => Effect.Effect<void>
}) {
  const drain = yield* Drain
  const jobs = yield* ResponseJobs
  const logged = (message: string) =>
    Effect.catchCause((cause: Cause.Cause<unknown>) => Effect.logWarning(message, cause))

  const work = Effect.gen(function* () {
    while (runs.size < runningMax && !(yield* drain.isClosed)) {
      const job = yield* jobs.claim
      if (job === undefined) break
      yield* start(job)
    }
  }).pipe(
    logged("Responses in the background could not be begun"),
    Effect.andThen(queued.changed(any, idleMillis)),
    Effect.forever
  )

  const watch = Effect.gen(function* () {
    if (runs.size > 0) {
      const leases = [...runs.values()].map(({ job }) => job)
      const held = yield* jobs.renew(leases)
      yield* Effect.forEach(
        leases.filter(({ responseId }) => !held.has(responseId)),
        ({ responseId }) => stop(responseId)
      )
    }
    // Most of the time there is nothing, which a plain SELECT finds out.
    const { isAbandoned, isQueued } = yield* jobs.look
    if (isQueued) yield* queued.notify(any)
    if (!isAbandoned) return
    while (true) {
      const job = yield* jobs.claimAbandoned
      if (job === undefined) break
      yield* recover(job)
    }
  }).pipe(
    logged("Responses in the background could not be watched"),
    Effect.andThen(Effect.sleep(lookMillis)),
    Effect.forever
  )

  const sweep = Effect.gen(function* () {
    while ((yield* jobs.deleteOld) > 0) yield* Effect.yieldNow
  }).pipe(
    logged("Old responses in the background could not be deleted"),
    Effect.repeat(Schedule.spaced(sweepEvery))
  )

  yield* Effect.forEach([work, watch, sweep], (loop) => Effect.forkScoped(loop), { discard: true })
})
