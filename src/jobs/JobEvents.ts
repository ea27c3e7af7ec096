import { type Array as Arr, Cause, Effect, Predicate, type Pull, Stream } from "effect"
import { errorEvent, type EventBody, isTerminal } from "../api/ResponseEvent.ts"
import type { ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import {
  type DatabaseUnavailable,
  ResponseCancelled,
  ResponseInterrupted,
  ResponseNotFound
} from "../domain/Errors.ts"
import type { Signals } from "./JobSignals.ts"
import type { LiveEvents } from "./LiveEvents.ts"

/** Interval at which a reader of the log looks for events of another process. */
const readMillis = 500

export const isEvent = (value: unknown): value is EventBody =>
  Predicate.hasProperty(value, "type") && Predicate.isString(value.type)

/**
 * The events up to the first terminal one. A process that crashes at the end may leave the log with another
 * event after it.
 */
const upToEnd = (events: ReadonlyArray<EventBody>): ReadonlyArray<EventBody> => {
  const end = events.findIndex(isTerminal)
  return end === -1 ? events : events.slice(0, end + 1)
}

/** The events of a job that this process runs. Readers get an error when the job was cancelled or lost. */
export const liveEvents = (
  live: LiveEvents,
  jobs: ResponseJobs["Service"],
  { responseId, userId }: ResponseJob
) =>
  Stream.suspend(() => {
    let read = 0
    let last: EventBody | undefined

    const pull: Pull.Pull<Arr.NonEmptyReadonlyArray<EventBody>, Failures | ResponseInterrupted> = Effect.gen(
      function* () {
        if (isTerminal(last)) return yield* Cause.done()
        const [first, ...rest] = yield* live.from(read)
        if (first === undefined) {
          const job = yield* jobs.find(userId, responseId)
          if (job?.status === "cancelled") return yield* new ResponseCancelled()
          if (job?.failure == null) return yield* new ResponseInterrupted()
          // The job was refused, so no event was passed on.
          last = errorEvent({ param: "", ...job.failure })
          return [last] as const
        }
        read += 1 + rest.length
        last = rest.at(-1) ?? first
        return [first, ...rest] as const
      }
    )
    return Stream.fromPull(Effect.succeed(pull))
  })

type Failures = ResponseCancelled | ResponseNotFound | DatabaseUnavailable
type PullEvents = Pull.Pull<Arr.NonEmptyReadonlyArray<EventBody>, Failures>

/** Reads the log of a job until the job has ended. */
export const makeEvents =
  (jobs: ResponseJobs["Service"], changed: Signals["changed"]) =>
  ({ responseId, userId }: ResponseJob): Stream.Stream<EventBody, Failures> =>
    Stream.suspend(() => {
      let read = 0
      let last: EventBody | undefined

      const pull: PullEvents = Effect.gen(function* () {
        while (!isTerminal(last)) {
          // The job is read before the log, so that no event can be missed in between.
          const job = yield* jobs.find(userId, responseId)
          if (job === undefined) return yield* new ResponseNotFound()
          const [first, ...rest] = yield* Effect.suspend(() =>
            Effect.map(jobs.events(responseId, read), (events) => upToEnd(events.filter(isEvent)))
          )
          if (first !== undefined) {
            read += 1 + rest.length
            last = rest.at(-1) ?? first
            return [first, ...rest] as const
          }
          if (job.status === "cancelled") return yield* new ResponseCancelled()
          if (job.endedAt !== null) {
            if (job.failure === null) break
            // The job was refused, so no event was logged.
            last = errorEvent({ param: "", ...job.failure })
            return [last] as const
          }
          yield* changed(responseId, readMillis)
        }
        return yield* Cause.done()
      })
      return Stream.fromPull(Effect.succeed(pull))
    })

/** Waits for the end of a job. */
export const makeEnded = (jobs: ResponseJobs["Service"], changed: Signals["changed"]) =>
  Effect.fnUntraced(function* ({ responseId, userId }: ResponseJob) {
    while (true) {
      const job = yield* jobs.find(userId, responseId)
      if (job === undefined) return yield* new ResponseNotFound()
      if (job.endedAt !== null) return job
      yield* changed(responseId, readMillis)
    }
  })
