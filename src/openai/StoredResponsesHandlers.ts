import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { pageItemsDefault } from "../api/openai/StoredItem.ts"
import { isOfResponse } from "../conversations/ResponseJobRow.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { CurrentUser } from "../domain/Account.ts"
import {
  InvalidRequest,
  ResponseNotCancellable,
  ResponseNotComplete,
  ResponseNotFound
} from "../domain/Errors.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { makeReading } from "./BackgroundReading.ts"
import { itemList } from "./StoredRendering.ts"

const notStreamable = new InvalidRequest({
  param: "stream",
  message:
    "Only a response in the background, or one that was created with an Idempotency-Key, can be streamed again, within 24 hours. Ask " +
    "without `stream`."
})

/** Other jobs only say how a response ended that its own request made. */
const wasJob = (job: ResponseJob): boolean => isOfResponse(job) && (job.background || job.runs > 0)

export const StoredResponsesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "storedResponses",
  Effect.fn(function* (handlers) {
    const background = yield* BackgroundResponses
    const jobs = yield* ResponseJobs
    const stored = yield* StoredResponses
    const { isDeleted, show, stream } = yield* makeReading

    return handlers.handleAll({
      get: Effect.fnUntraced(function* ({ params: { response_id: id }, query }) {
        const { userId } = yield* CurrentUser
        if (query.stream !== "true") return yield* show(userId, id)
        const job = yield* jobs.find(userId, id)
        if (job !== undefined && wasJob(job) && !(yield* isDeleted(job)))
          return yield* stream(job, query.starting_after)
        yield* show(userId, id)
        return yield* notStreamable
      }, enveloped),
      cancel: Effect.fnUntraced(function* ({ params: { response_id: id } }) {
        const { userId } = yield* CurrentUser
        const job = yield* jobs.find(userId, id)
        if (job === undefined || !isOfResponse(job)) yield* stored.find(userId, id)
        if (job?.background !== true || !isOfResponse(job)) return yield* new ResponseNotCancellable()
        yield* background.cancel(userId, id)
        return yield* show(userId, id)
      }, enveloped),
      delete: Effect.fnUntraced(function* ({ params: { response_id: id } }) {
        const { userId } = yield* CurrentUser
        const isStored = yield* stored.delete(userId, id).pipe(
          Effect.as(true),
          Effect.catchTag("ResponseNotFound", () => Effect.succeed(false))
        )
        const isKnown = yield* jobs.delete(userId, id)
        if (!isStored && !isKnown) return yield* new ResponseNotFound()
        return { id: shownId("response", id), object: "response", deleted: true } as const
      }, enveloped),
      inputItems: Effect.fnUntraced(function* ({ params: { response_id: id }, query }) {
        const { userId } = yield* CurrentUser
        const { limit = pageItemsDefault, order = "desc", ...after } = query
        const page = yield* stored
          .inputItems(userId, id, { ...after, limit, order })
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
        return itemList(page)
      }, enveloped)
    })
  })
)
