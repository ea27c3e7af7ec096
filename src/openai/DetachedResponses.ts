import { Effect, Option, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { failure } from "../api/Failure.ts"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { InvalidRequest, ResponseNotCancellable, ResponseNotFound } from "../domain/Errors.ts"
import type { ResponseId, UserId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { respond } from "../http/ErrorBoundary.ts"
import { streamResponse } from "../http/Sse.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { BackgroundResponses } from "./BackgroundResponses.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { makeJobReading, renderJob, viewOfJob, writingAfter } from "./JobRendering.ts"
import { makeWriting } from "./ProfileWriting.ts"
import { renderStored } from "./StoredRendering.ts"

/** Responses that are made apart from their requests, as clients see them. */

const keyHeader = "idempotency-key"
const documented = Object.keys(CreateBody.fields)
/** Of a failure after the beginning. */
const generationFailedStatus = 500
const keyPattern = /^[\x20-\x7e]{1,255}$/

/** The Idempotency-Key of a request; null without one. */
const keyOf = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const key = headers[keyHeader]
  if (key === undefined) return Effect.succeed(null)
  return keyPattern.test(key)
    ? Effect.succeed(key)
    : Effect.fail(
        new InvalidRequest({
          param: "Idempotency-Key",
          message: "The Idempotency-Key must have 1 to 255 printable characters of ASCII."
        })
      )
}

export const isDetached = (body: CreateBody, request: HttpServerRequest.HttpServerRequest): boolean =>
  body.background === true || request.headers[keyHeader] !== undefined

const notStreamable = new InvalidRequest({
  param: "stream",
  message:
    "Only a response in the background, or one that was created with an Idempotency-Key, can be streamed again, within 24 hours. Ask " +
    "without `stream`."
})

/** What a new response says of itself before its body. */
const headersOf = Effect.fnUntraced(function* (
  first: EventBody | null,
  body: CreateBody,
  request: HttpServerRequest.HttpServerRequest
) {
  const conversation =
    first?.type === "response.created"
      ? { "x-conversation-id": shownId("conversation", first.response.conversation_id) }
      : {}
  return { ...conversation, ...(yield* ignoredHeader(request, body, documented)) }
})

/** What answers requests for such responses. */
export const makeDetached = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const drain = yield* Drain
  const jobs = yield* ResponseJobs
  const stored = yield* StoredResponses
  const { keepaliveSeconds } = (yield* AppConfig).stream
  const { logged, refusalOf } = makeJobReading(jobs)

  const stream = Effect.fnUntraced(function* (
    job: ResponseJob,
    after: number,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const { view } = yield* viewOfJob(job)
    const queued = job.background ? yield* renderJob({ ...job, status: "queued", failure: null }) : null
    return yield* streamResponse(background.events(job), {
      headers: { "x-response-id": shownId("response", job.responseId), ...headers },
      keepaliveSeconds,
      lost: Effect.never,
      writing: writingAfter(makeWriting(view, queued), after)
    })
  })

  /** A response of any state. */
  const show = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const found = yield* stored.find(userId, id).pipe(
      Effect.map(renderStored),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(null))
    )
    if (found !== null) return found
    const job = yield* jobs.find(userId, id)
    // What has come to an end and isn't stored was deleted.
    if (job === undefined || job.status === "completed" || job.status === "incomplete") {
      return yield* new ResponseNotFound()
    }
    return yield* renderJob(job, yield* logged(job))
  })

  const resume = Effect.fnUntraced(function* (userId: UserId, id: ResponseId, after: number) {
    const job = yield* jobs.find(userId, id)
    if (job !== undefined) return yield* stream(job, after)
    yield* stored.find(userId, id)
    return yield* notStreamable
  })

  /** Waits for the end of a response that a client asked for by a key. */
  const whole = Effect.fnUntraced(function* (job: ResponseJob, headers: Readonly<Record<string, string>>) {
    const last = Option.getOrNull(yield* Stream.runLast(background.events(job)))
    // The job ends after its last event.
    if (last?.type === "error") {
      return respond(failure(generationFailedStatus, last.error.type, last.error.code, last.error.message))
    }
    return (
      (yield* refusalOf(job)) ??
      HttpServerResponse.jsonUnsafe(yield* show(job.userId, job.responseId), { headers })
    )
  })

  const create = Effect.fnUntraced(function* (
    body: CreateBody,
    request: HttpServerRequest.HttpServerRequest
  ) {
    if (body.store === false) {
      return yield* new InvalidRequest({
        param: "store",
        message:
          "`store` can't be false for a response in the background or with an Idempotency-Key, because it is kept to be shown again."
      })
    }
    const key = yield* keyOf(request)
    const job = yield* background.submit(body, key)
    if (body.background === true && body.stream !== true) {
      return HttpServerResponse.jsonUnsafe(
        job.endedAt === null ? yield* renderJob(job) : yield* show(job.userId, job.responseId)
      )
    }
    // One in the background may wait long, which its stream shows.
    if (body.background === true) return yield* stream(job, -1, yield* headersOf(null, body, request))
    yield* Effect.raceFirst(background.begun(job), drain.cutoff)
    const first = Option.getOrNull(
      yield* Effect.raceFirst(Stream.runHead(background.events(job)), drain.cutoff)
    )
    const refusal = first === null || first.type === "error" ? yield* refusalOf(job) : null
    if (refusal !== null) return refusal
    const headers = yield* headersOf(first, body, request)
    return body.stream === true
      ? yield* stream(job, -1, headers)
      : yield* Effect.raceFirst(whole(job, headers), drain.cutoff)
  })

  const cancel = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const job = yield* jobs.find(userId, id)
    if (job === undefined) {
      yield* stored.find(userId, id)
      return yield* new ResponseNotCancellable()
    }
    yield* background.cancel(userId, id)
    return yield* show(userId, id)
  })

  const remove = Effect.fnUntraced(function* (userId: UserId, id: ResponseId) {
    const isStored = yield* stored.delete(userId, id).pipe(
      Effect.as(true),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(false))
    )
    const wasJob = yield* jobs.delete(userId, id)
    if (!isStored && !wasJob) return yield* new ResponseNotFound()
  })

  return { create, show, resume, cancel, delete: remove }
})
