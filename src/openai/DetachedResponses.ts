import { Effect, Option, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { failure } from "../api/Failure.ts"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ResponseResource } from "../api/openai/ResponseResource.ts"
import { startedResponse } from "../api/ResponseObject.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { InvalidRequest, ResponseNotCancellable, ResponseNotFound } from "../domain/Errors.ts"
import { ConversationId, type ResponseId, type UserId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { respond } from "../http/ErrorBoundary.ts"
import { streamResponse, type Writing } from "../http/Sse.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { firstId } from "../sql/Paging.ts"
import { BackgroundResponses } from "./BackgroundResponses.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { renderResponse } from "./ItemRendering.ts"
import { decodeBody } from "./JobRun.ts"
import { makeWriting } from "./ProfileWriting.ts"
import { readRequest } from "./RequestReading.ts"
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

const viewOfJob = (job: ResponseJob) =>
  Effect.map(Effect.orDie(decodeBody(job.request)), (body) => ({ body, ...readRequest(body) }))

/** A response that isn't stored: it waits, is being made, failed or was cancelled. */
const renderJob = Effect.fnUntraced(function* (job: ResponseJob) {
  const { body, request, view } = yield* viewOfJob(job)
  const start = startedResponse({
    id: job.responseId,
    createdAt: job.createdAt.epochMilliseconds,
    model: body.model || "auto",
    conversationId: ConversationId.make(firstId),
    instructions: request.instructions ?? null,
    maxOutputTokens: request.max_output_tokens ?? null,
    previousResponseId: request.previous_response_id ?? null,
    store: true
  })
  const shown: ResponseResource = {
    ...renderResponse(start, view),
    // It isn't known before the response begins.
    conversation: null,
    status: job.status,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message }
  }
  return shown
})

/** The same frames without those up to a number. */
const writingAfter = (writing: Writing, after: number): Writing => {
  let next = 0
  const later = (text: string) =>
    text
      .split(/(?<=\n\n)/)
      .filter((frame) => frame !== "" && next++ > after)
      .join("")
  return {
    event: (event) => later(writing.event(event)),
    failure: (body) => later(writing.failure(body)),
    end: writing.end
  }
}

const notStreamable = new InvalidRequest({
  param: "stream",
  message:
    "Only a response in the background, or one that was created with an Idempotency-Key, can be streamed again, within 24 hours. Ask " +
    "without `stream`."
})

/** What answers requests for such responses. */
export const makeDetached = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const drain = yield* Drain
  const jobs = yield* ResponseJobs
  const stored = yield* StoredResponses
  const { keepaliveSeconds } = (yield* AppConfig).stream

  /** What a new response says of itself before its body. */
  const headersOf = Effect.fnUntraced(function* (
    job: ResponseJob,
    body: CreateBody,
    request: HttpServerRequest.HttpServerRequest
  ) {
    const first = Option.getOrNull(yield* Stream.runHead(background.events(job)))
    const conversation =
      first?.type === "response.created"
        ? { "x-conversation-id": shownId("conversation", first.response.conversation_id) }
        : {}
    return { ...conversation, ...(yield* ignoredHeader(request, body, documented)) }
  })

  const stream = Effect.fnUntraced(function* (
    job: ResponseJob,
    after: number,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const { view } = yield* viewOfJob(job)
    return yield* streamResponse(background.events(job), {
      headers: { "x-response-id": shownId("response", job.responseId), ...headers },
      keepaliveSeconds,
      lost: Effect.never,
      writing: writingAfter(makeWriting(view), after)
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
    return yield* renderJob(job)
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
    const ended = yield* jobs.find(job.userId, job.responseId)
    if (ended?.failure != null) {
      const { code, message, status, type } = ended.failure
      return respond(failure(status, type, code, message))
    }
    return HttpServerResponse.jsonUnsafe(yield* show(job.userId, job.responseId), { headers })
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
    yield* Effect.raceFirst(background.begun(job), drain.cutoff)
    const headers = yield* Effect.raceFirst(headersOf(job, body, request), drain.cutoff)
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
