import { Effect, Option, Stream } from "effect"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { failure } from "../api/Failure.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { Item, ResponseResource } from "../api/openai/ResponseResource.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { startedResponse, type ResponseObject } from "../api/ResponseObject.ts"
import { isOfResponse, type JobFailure } from "../conversations/ResponseJobRow.ts"
import { type NewJob, type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { StoredResponses } from "../conversations/StoredResponses.ts"
import { outputText, type OutputItem, type OutputText } from "../domain/Conversation.ts"
import { ResponseNotFound } from "../domain/Errors.ts"
import { ConversationId, type ResponseId, type UserId } from "../domain/Ids.ts"
import { respond } from "../http/ErrorBoundary.ts"
import { EventStreams } from "../http/Sse.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { isEvent } from "../jobs/JobEvents.ts"
import { firstId } from "../sql/Paging.ts"
import { renderResponse } from "./ItemRendering.ts"
import { makeWriting } from "./Rendering.ts"
import { decodeBody, readRequest } from "./RequestReading.ts"
import { noSealing, Sealing } from "./Sealing.ts"
import { renderStored } from "./StoredRendering.ts"

/** Responses that are made apart from their requests, as documents and frames. */

/** The part of a response that its events show before its end. */
interface Progress {
  /** The response as it began; null if it hasn't. */
  readonly started: ResponseObject | null
  /** The items so far. An open message has the text that was written. */
  readonly output: ReadonlyArray<OutputItem>
}

/** Folds the first events of a response, as the log has them. */
export const progressOf = (events: ReadonlyArray<EventBody>): Progress => {
  let started: ResponseObject | null = null
  const output: Array<OutputItem> = []
  /** The parts of open messages, by their place. */
  const open = new Map<number, OutputText>()
  for (const event of events) {
    switch (event.type) {
      case "response.created":
        started = event.response
        break
      case "response.output_item.added":
        output[event.output_index] = event.item
        break
      case "response.output_item.done":
        output[event.output_index] = event.item
        open.delete(event.output_index)
        break
      case "response.content_part.added":
        open.set(event.output_index, event.part)
        break
      case "response.output_text.delta":
      case "response.refusal.delta": {
        const part = open.get(event.output_index)
        if (part !== undefined) open.set(event.output_index, { ...part, text: part.text + event.delta })
        break
      }
      default:
    }
  }
  return { started, output: output.map((item, index) => withPart(item, open.get(index))) }
}

const withPart = (item: OutputItem, part: OutputText | undefined): OutputItem =>
  item.type !== "message" || part === undefined || part.text === "" ? item : { ...item, content: [part] }

/** Reads the request of a job. Nothing of its input is opened, since nothing of that is shown. */
export const viewOfJob = Effect.fnUntraced(function* (job: ResponseJob) {
  const { seal } = (yield* Sealing).of(job.userId)
  const body = yield* Effect.orDie(decodeBody(job.request))
  return { body, ...(yield* readRequest(body, { ...noSealing, seal })) }
})

/** An item of a response that will not go on. */
const broken = (item: Item): Item =>
  item.status === "in_progress" ? { ...item, status: "incomplete" } : item

/** A response that isn't stored: it waits, is being made, failed or was cancelled. */
export const renderJob = Effect.fnUntraced(function* (
  job: ResponseJob,
  events: ReadonlyArray<EventBody> = []
) {
  const { body, request, view } = yield* viewOfJob(job)
  const { output, started } = progressOf(events)
  const start = startedResponse({
    id: job.responseId,
    createdAt: job.createdAt.epochMilliseconds,
    model: body.model || "auto",
    conversationId: job.conversationId ?? ConversationId.make(firstId),
    instructions: request.instructions ?? null,
    maxOutputTokens: request.max_output_tokens ?? null,
    previousResponseId: request.previous_response_id ?? null,
    store: true
  })
  const bare = renderResponse({ ...(started ?? start), output, output_text: outputText(output) }, view)
  const shown: ResponseResource = {
    ...bare,
    output: job.endedAt === null ? bare.output : bare.output.map(broken),
    // It isn't known before the response begins.
    conversation: job.conversationId === null ? null : bare.conversation,
    status: job.status,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message }
  }
  return shown
})

/** Answers a request whose job was refused. */
export const respondRefused = (
  { code, message, status, type, ...rest }: JobFailure,
  named: (error: ErrorBody) => ErrorBody = (error) => error
) => {
  const { body, ...refused } = failure(status, type, code, message, rest)
  return respond({ ...refused, body: named(body) })
}

/** Answers a request whose response failed after its beginning. */
export const respondFailed = ({ code, message, type }: Pick<ErrorBody, "code" | "message" | "type">) =>
  respond(failure(500, type, code, message))

/** Reads responses that are made apart from their requests, in any state. */
export const makeReading = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const streams = yield* EventStreams
  const jobs = yield* ResponseJobs
  const stored = yield* StoredResponses

  const stream = Effect.fnUntraced(function* (
    job: ResponseJob,
    after = -1,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const { view } = yield* viewOfJob(job)
    // The same whenever it is read: nothing but the request is known of a response that waits.
    const waiting = { ...job, status: "queued", failure: null, conversationId: null } as const
    const queued = job.background ? yield* renderJob(waiting) : null
    return yield* streams.respond(background.events(job), {
      headers: { "x-response-id": shownId("response", job.responseId), ...headers },
      writing: makeWriting(view, queued, after)
    })
  })

  const isStored = (userId: UserId, id: ResponseId) =>
    stored.find(userId, id).pipe(
      Effect.as(true),
      Effect.catchTag("ResponseNotFound", () => Effect.succeed(false))
    )

  /** A response that has come to an end and isn't stored was deleted. */
  const isDeleted = ({ responseId, status, userId }: ResponseJob) =>
    status === "completed" || status === "incomplete"
      ? Effect.map(isStored(userId, responseId), (isThere) => !isThere)
      : Effect.succeed(false)

  /** All events that were logged so far. */
  const logged = Effect.fnUntraced(function* ({ eventCount, responseId }: ResponseJob) {
    const all: Array<EventBody> = []
    for (let read = 0; read < eventCount;) {
      const some = yield* jobs.events(responseId, read)
      if (some.length === 0) break
      read += some.length
      all.push(...some.filter(isEvent))
    }
    return all
  })

  /** Waits for the first event of a job, or for the answer to a request that was refused. */
  const begun = Effect.fnUntraced(function* (job: ResponseJob, named?: (error: ErrorBody) => ErrorBody) {
    yield* background.begun(job)
    const first = Option.getOrNull(yield* Stream.runHead(background.events(job)))
    const failed = first === null || first.type === "error" ? yield* failureOf(job) : null
    return { first, refusal: failed === null ? null : respondRefused(failed, named) }
  })

  const failureOf = ({ responseId, userId }: ResponseJob) =>
    Effect.map(jobs.find(userId, responseId), (job) => job?.failure ?? null)

  /** Returns the job of a request; one whose stored response was deleted is none any more. */
  const submit = Effect.fnUntraced(function* (
    asked: NewJob["asked"],
    isBackground: boolean,
    key: string | null,
    isStored = true
  ) {
    const job = yield* background.submit(asked, isBackground, key)
    if (!isStored || !(yield* isDeleted(job))) return job
    yield* jobs.delete(job.userId, job.responseId)
    return yield* background.submit(asked, isBackground, key)
  })

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

  return { begun, failureOf, isDeleted, show, stream, submit }
})

export type Reading = Effect.Success<typeof makeReading>
