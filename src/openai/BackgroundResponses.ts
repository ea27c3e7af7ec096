import { Cause, Context, Deferred, Effect, Layer, Metric, Schedule, Schema, Scope, Stream } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import type { Expected } from "../api/Failure.ts"
import { CreateBody } from "../api/openai/CreateBody.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { CurrentUser } from "../domain/Account.ts"
import {
  type DatabaseUnavailable,
  type IdempotencyKeyReused,
  ResponseCancelled,
  ResponseNotCancellable,
  ResponseNotFound,
  type TooManyJobs
} from "../domain/Errors.ts"
import { ResponseId, type UserId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { responseJobs, responseJobsRunning } from "../telemetry/Instruments.ts"
import { makeEvents } from "./JobEvents.ts"
import { JobLost } from "./JobLog.ts"
import { type JobRun, makeJobRuns } from "./JobRun.ts"
import { any, makeSignals, type Signals } from "./JobSignals.ts"

/** Responses of the queue that one process makes at once. */
const runningMax = 32
/** How soon a process notices what another one queued, cancelled or left behind. */
const lookMillis = 1_000
/** How often the queue is read without a sign of anything in it. */
const idleMillis = 10_000
/** How long a request for the background waits to be accepted or refused; by then it is queued at least. */
const acceptMillis = 1_000
const sweepEvery = "1 hour"

/** Makes responses apart from the requests that ask for them: in the background, and once for each Idempotency-Key. */
export class BackgroundResponses extends Context.Service<
  BackgroundResponses,
  {
    /** Queues a response, or begins it at once if it isn't for the background. With a key, the one that it was used for. */
    readonly submit: (
      body: CreateBody,
      key: string | null
    ) => Effect.Effect<ResponseJob, IdempotencyKeyReused | TooManyJobs | DatabaseUnavailable, CurrentUser>
    /** Waits a moment until the request is accepted, if this process begins it by then; fails where it is refused. */
    readonly accepted: (job: ResponseJob) => Effect.Effect<void, Expected>
    /** Waits for the first event; fails where the request is refused before it. */
    readonly begun: (job: ResponseJob) => Effect.Effect<void, Expected>
    /** All events of a response, from the first one on, as any process writes them. */
    readonly events: (
      job: ResponseJob
    ) => Stream.Stream<EventBody, ResponseCancelled | ResponseNotFound | DatabaseUnavailable>
    readonly cancel: (
      userId: UserId,
      id: ResponseId
    ) => Effect.Effect<ResponseJob, ResponseNotFound | ResponseNotCancellable | DatabaseUnavailable>
  }
>()("parley/openai/BackgroundResponses") {
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
        body: CreateBody,
        key: string | null
      ) {
        const { keyId, userId } = yield* CurrentUser
        const request = yield* Effect.orDie(Schema.encodeEffect(CreateBody)(body))
        const { isNew, job } = yield* jobs.submit({
          responseId: ResponseId.make(yield* random.uuidV7()),
          userId,
          apiKeyId: keyId,
          background: body.background === true,
          request,
          key:
            key === null
              ? null
              : { hash: yield* hashOf(key), bodyHash: yield* hashOf(JSON.stringify(request)) }
        })
        if (isNew) {
          yield* process.added(job)
        }
        return job
      })

      const cancel = Effect.fn("BackgroundResponses.cancel")(function* (userId: UserId, id: ResponseId) {
        const job = yield* jobs.find(userId, id)
        if (job === undefined) return yield* new ResponseNotFound()
        if (!job.background) return yield* new ResponseNotCancellable()
        if (yield* jobs.cancel(userId, id)) {
          yield* Metric.update(responseJobs.of("cancelled"), 1)
          yield* process.stop(id)
        }
        return (yield* jobs.find(userId, id)) ?? (yield* new ResponseNotFound())
      })

      return BackgroundResponses.of({
        submit,
        cancel,
        accepted: process.accepted,
        begun: process.begun,
        events: makeEvents(jobs, process.changed)
      })
    })
  )
}

/** The jobs that this process runs, and its share of the queue. */
const makeProcess = Effect.gen(function* () {
  const { recover, run } = yield* makeJobRuns
  const scope = yield* Scope.Scope
  const runs = new Map<ResponseId, JobRun>()
  const { changed, notify } = makeSignals()
  const queued = makeSignals()

  /** Those whose requests wait to be accepted. */
  const awaited = new Map<ResponseId, Deferred.Deferred<void, Expected>>()

  const start = Effect.fnUntraced(function* (job: ResponseJob) {
    const id = job.responseId
    const current: JobRun = {
      job,
      accepted: awaited.get(id) ?? (yield* Deferred.make<void, Expected>()),
      isAwaited: () => awaited.has(id),
      begun: yield* Deferred.make<void, Expected>(),
      lost: yield* Deferred.make<never, JobLost>(),
      onChange: notify(id)
    }
    runs.set(id, current)
    yield* Metric.update(responseJobsRunning.of(), runs.size)
    yield* run(current).pipe(
      Effect.ensuring(
        Effect.suspend(() => {
          runs.delete(id)
          return Effect.all([
            Metric.update(responseJobsRunning.of(), runs.size),
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
    awaited.set(job.responseId, yield* Deferred.make<void, Expected>())
    yield* queued.notify(any)
  })
  const begun = ({ responseId }: ResponseJob) =>
    Effect.suspend(() => {
      const current = runs.get(responseId)
      return current === undefined ? Effect.void : Deferred.await(current.begun)
    })
  const accepted = ({ responseId }: ResponseJob) =>
    Effect.suspend(() => {
      const waiting = awaited.get(responseId)
      return waiting === undefined ? Effect.void : Deferred.await(waiting)
    }).pipe(
      Effect.timeoutOption(acceptMillis),
      Effect.ensuring(Effect.sync(() => awaited.delete(responseId))),
      Effect.asVoid
    )
  return { added, accepted, begun, stop, changed }
})

/** Begins queued jobs, renews the leases of those that run, ends those of dead processes, and deletes old ones. */
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
    while (runs.size < runningMax && !(yield* drain.isDraining)) {
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
