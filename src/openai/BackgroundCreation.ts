import { Effect, Option, Schema, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseJob } from "../conversations/ResponseJobs.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { Drain } from "../http/Drain.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { keyHeader, keyOf } from "../jobs/IdempotencyKey.ts"
import { makeReading, renderJob, respondFailed, respondRefused } from "./BackgroundReading.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { namingLogprobs } from "./Logprobs.ts"
import { readRequest } from "./RequestReading.ts"
import { Sealing } from "./Sealing.ts"
import { toolsOf } from "./ToolReading.ts"

/** Requests for responses that are made apart from them. */

const encodeBody = Schema.encodeEffect(CreateBody)
const documented = Object.keys(CreateBody.fields)

/** Fails where a request that is never made apart has a key, which would promise that it is. */
export const refuseKey = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  headers[keyHeader] === undefined
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          param: "Idempotency-Key",
          message:
            "An Idempotency-Key is honoured by POST /openai/v1/responses, POST /openai/v1/chat/completions and POST /openai/v1/embeddings only. Leave it out."
        })
      )

export const isBackground = (body: CreateBody, request: HttpServerRequest.HttpServerRequest): boolean =>
  body.background === true || request.headers[keyHeader] !== undefined

/** The headers of a new response. */
const headersOf = Effect.fnUntraced(function* (
  job: ResponseJob,
  first: EventBody | null,
  body: CreateBody,
  request: HttpServerRequest.HttpServerRequest
) {
  const { unused } = yield* readRequest(body, (yield* Sealing).of(job.userId))
  const ignored = yield* ignoredHeader(request, body, documented, unused)
  if (first?.type !== "response.created") return ignored
  const { conversation_id: conversationId } = first.response
  return {
    "x-conversation-id": shownId("conversation", conversationId),
    // The whole answer is what is stored, which has none.
    ...namingLogprobs(ignored, body, body.stream === true ? first.response : { lacksLogprobs: true })
  }
})

export const makeCreate = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const drain = yield* Drain
  const { begun, failureOf, show, stream, submit } = yield* makeReading

  /** Waits for the end of a response that a client asked for by a key. */
  const whole = Effect.fnUntraced(function* (job: ResponseJob, headers: Readonly<Record<string, string>>) {
    const last = Option.getOrNull(yield* Stream.runLast(background.events(job)))
    // The job ends after its last event.
    if (last?.type === "error") return respondFailed(last.error)
    const failed = yield* failureOf(job)
    return failed === null
      ? HttpServerResponse.jsonUnsafe(yield* show(job.userId, job.responseId), { headers })
      : respondRefused(failed)
  })

  const answer = Effect.fnUntraced(function* (
    body: CreateBody,
    incoming: HttpServerRequest.HttpServerRequest,
    key: string | null
  ) {
    // A reader of the job may see it without its input, which may add tools.
    const tools = toolsOf(body)
    const request = yield* Effect.orDie(encodeBody(tools.length === 0 ? body : { ...body, tools }))
    const job = yield* submit({ kind: "profile", request }, body.background === true, key)
    if (job.status === "queued") yield* Effect.raceFirst(background.accepted(job), drain.cutoff)
    if (body.background === true && body.stream !== true) {
      return HttpServerResponse.jsonUnsafe(
        job.endedAt === null ? yield* renderJob(job) : yield* show(job.userId, job.responseId)
      )
    }
    // One in the background may wait long, which its stream shows.
    if (body.background === true) return yield* stream(job, -1, yield* headersOf(job, null, body, incoming))
    const { first, refusal } = yield* Effect.raceFirst(begun(job), drain.cutoff)
    if (refusal !== null) return refusal
    const headers = yield* headersOf(job, first, body, incoming)
    return body.stream === true
      ? yield* stream(job, -1, headers)
      : yield* Effect.raceFirst(whole(job, headers), drain.cutoff)
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
    return yield* answer(body, request, key).pipe(
      // The one that the key was used for has been refused or deleted meanwhile, which frees the key.
      Effect.catchTag("ResponseNotFound", (gone) =>
        key === null ? Effect.fail(gone) : answer(body, request, key)
      )
    )
  })

  return create
})
