import { Effect } from "effect"
import { isOfResponse } from "../conversations/ResponseJobRow.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { type ItemsWanted, StoredResponses } from "../conversations/StoredResponses.ts"
import {
  InvalidRequest,
  ResponseNotCancellable,
  ResponseNotComplete,
  ResponseNotFound
} from "../domain/Errors.ts"
import type { ResponseId, UserId } from "../domain/Ids.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { makeCreate } from "./DetachedCreation.ts"
import { makeReading } from "./DetachedReading.ts"

/** Responses that are made apart from their requests, as clients see them. */

const notStreamable = new InvalidRequest({
  param: "stream",
  message:
    "Only a response in the background, or one that was created with an Idempotency-Key, can be streamed again, within 24 hours. Ask " +
    "without `stream`."
})

/** Others only say how a response ended that its own request made. */
const wasJob = (job: ResponseJob): boolean => isOfResponse(job) && (job.background || job.runs > 0)

/** What answers requests for such responses. */
export const makeDetached = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const jobs = yield* ResponseJobs
  const stored = yield* StoredResponses
  const reading = yield* makeReading
  const { isDeleted, show, stream } = reading

  const resume = Effect.fnUntraced(function* (userId: UserId, id: ResponseId, after: number) {
    const job = yield* jobs.find(userId, id)
    if (job !== undefined && wasJob(job) && !(yield* isDeleted(job))) return yield* stream(job, after)
    yield* show(userId, id)
    return yield* notStreamable
  })

  const cancel = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const job = yield* jobs.find(userId, id)
    if (job === undefined || !isOfResponse(job)) {
      yield* stored.find(userId, id)
      return yield* new ResponseNotCancellable()
    }
    if (!job.background) return yield* new ResponseNotCancellable()
    yield* background.cancel(userId, id)
    return yield* show(userId, id)
  })

  const remove = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const isStored = yield* stored.delete(userId, id).pipe(
      Effect.as(true),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(false))
    )
    const isKnown = yield* jobs.delete(userId, id)
    if (!isStored && !isKnown) return yield* new ResponseNotFound()
  })

  /** What a response was asked. */
  const inputItems = Effect.fnUntraced(function* (userId: UserId, id: ResponseId, wanted: ItemsWanted) {
    return yield* stored
      .inputItems(userId, id, wanted)
      .pipe(
        Effect.catchTag("ResponseNotFound", (missing) =>
          Effect.flatMap(jobs.find(userId, id), (job) =>
            Effect.fail(
              job !== undefined && job.endedAt === null
                ? new ResponseNotComplete({ param: "response_id" })
                : missing
            )
          )
        )
      )
  })

  return { create: yield* makeCreate(reading), show, resume, cancel, inputItems, delete: remove }
})
