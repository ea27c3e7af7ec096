import { Effect } from "effect"
import { shownId } from "../api/openai/ProfileIds.ts"
import { isOfResponse } from "../conversations/ResponseJobRow.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { ResponseNotFound } from "../domain/Errors.ts"
import type { ResponseId, UserId } from "../domain/Ids.ts"
import { EventStreams } from "../http/Sse.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { makeJobReading, renderJob, viewOfJob, writingAfter } from "./JobRendering.ts"
import { makeWriting } from "./ProfileWriting.ts"
import { Sealing } from "./Sealing.ts"
import { renderStored } from "./StoredRendering.ts"

/** Reads responses that are made apart from their requests, in any state. */
export const makeReading = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const streams = yield* EventStreams
  const jobs = yield* ResponseJobs
  const stored = yield* StoredResponses
  const { logged } = makeJobReading(jobs)

  const stream = Effect.fnUntraced(function* (
    job: ResponseJob,
    after: number,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const { view } = yield* viewOfJob(job)
    // The same whenever it is read: nothing but the request is known of a response that waits.
    const waiting = { ...job, status: "queued", failure: null, conversationId: null } as const
    const queued = job.background ? yield* renderJob(waiting) : null
    return yield* streams.respond(background.events(job), {
      headers: { "x-response-id": shownId("response", job.responseId), ...headers },
      writing: writingAfter(makeWriting(view, queued), after)
    })
  })

  const isStored = (userId: UserId, id: ResponseId) =>
    stored.find(userId, id).pipe(
      Effect.as(true),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(false))
    )

  /** What has come to an end and isn't stored was deleted. */
  const isDeleted = ({ responseId, status, userId }: ResponseJob) =>
    status === "completed" || status === "incomplete"
      ? Effect.map(isStored(userId, responseId), (isThere) => !isThere)
      : Effect.succeed(false)

  /** A response of any state. */
  const show = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const sealing = (yield* Sealing).of(userId)
    const found = yield* stored.find(userId, id).pipe(
      Effect.map((one) => renderStored(one, sealing)),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(null))
    )
    if (found !== null) return found
    const job = yield* jobs.find(userId, id)
    // A chat is no response that could be shown, unless it is stored, nor are embeddings.
    if (job === undefined || !isOfResponse(job) || (yield* isDeleted(job)))
      return yield* new ResponseNotFound()
    return yield* renderJob(job, yield* logged(job))
  })

  return { stream, show, isDeleted }
})

export type Reading = Effect.Success<typeof makeReading>
