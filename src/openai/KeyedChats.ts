import { Effect, Option, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { failure } from "../api/Failure.ts"
import { ChatBody } from "../api/openai/ChatBody.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { InvalidRequest, ResponseInterrupted } from "../domain/Errors.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { respond } from "../http/ErrorBoundary.ts"
import { EventStreams } from "../http/Sse.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { readChat } from "./ChatReading.ts"
import type { ChatShowing } from "./ChatShowing.ts"
import { makeReading } from "./DetachedReading.ts"

/** Chats with an Idempotency-Key: each is answered once, apart from its requests, and its events are kept to be shown again. */

const encodeBody = Schema.encodeEffect(ChatBody)
const decodeBody = Schema.decodeUnknownEffect(ChatBody)

/** As a job has it. */
export const readChatJob = Effect.fnUntraced(function* (job: unknown) {
  const body = yield* Effect.orDie(decodeBody(job))
  const { demands, request } = yield* Effect.orDie(Effect.fromResult(readChat(body)))
  return { request, demands, showsPassages: false }
})

const invalid = (param: string, problem: string) =>
  new InvalidRequest({ param, message: `\`${param}\` ${problem}` })

const problemOf = ({ n, store }: ChatBody): InvalidRequest | null => {
  if (store === false)
    return invalid(
      "store",
      "can't be false with an Idempotency-Key, because the answer is kept to be shown again."
    )
  return (n ?? 1) > 1 ? invalid("n", "must be 1 with an Idempotency-Key.") : null
}

/** Of a failure after the beginning. */
const generationFailedStatus = 500

/** What one request is shown. */
interface KeyedChat {
  readonly body: ChatBody
  readonly key: string
  readonly showing: ChatShowing
  readonly headersOf: (
    id: ConversationId,
    answered: { readonly lacksLogprobs?: true }
  ) => Readonly<Record<string, string>>
}

/** Those of an answer that has begun. */
const headersIn = (first: EventBody | null, headersOf: KeyedChat["headersOf"]) =>
  first?.type === "response.created" ? headersOf(first.response.conversation_id, first.response) : {}

export const makeKeyedChats = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const { cutoff } = yield* Drain
  const jobs = yield* ResponseJobs
  const streams = yield* EventStreams
  const { isDeleted } = yield* makeReading

  /** The failure of a request that was refused; null without one. */
  const refusalOf = Effect.fnUntraced(function* (
    { responseId, userId }: ResponseJob,
    named: (error: ErrorBody) => ErrorBody
  ) {
    const failed = (yield* jobs.find(userId, responseId))?.failure
    if (failed == null) return null
    const { code, message, param = "", status, type, headers } = failed
    const { body, ...rest } = failure(status, type, code, message, { param, ...(headers && { headers }) })
    return respond({ ...rest, body: named(body) })
  })

  /** The job of a request. One whose stored answer was deleted is none any more. */
  const submit = Effect.fnUntraced(function* (body: ChatBody, key: string) {
    const asked = { kind: "chat", request: yield* Effect.orDie(encodeBody(body)) } as const
    const job = yield* background.submit(asked, false, key)
    if (body.store !== true || !(yield* isDeleted(job))) return job
    yield* jobs.delete(job.userId, job.responseId)
    return yield* background.submit(asked, false, key)
  })

  const whole = Effect.fnUntraced(function* (
    job: ResponseJob,
    { headersOf, showing }: KeyedChat,
    first: EventBody | null
  ) {
    const last = Option.getOrNull(yield* Stream.runLast(background.events(job)))
    if (last?.type === "response.completed")
      return HttpServerResponse.jsonUnsafe(showing.whole(last.response), {
        headers: headersIn(first, headersOf)
      })
    if (last?.type !== "error") return yield* new ResponseInterrupted()
    const { code, message, type } = last.error
    return respond(failure(generationFailedStatus, type, code, message))
  })

  const attach = Effect.fnUntraced(function* (chat: KeyedChat) {
    const { body, headersOf, key, showing } = chat
    const job = yield* submit(body, key)
    yield* background.begun(job)
    const first = Option.getOrNull(yield* Stream.runHead(background.events(job)))
    const refusal = first === null || first.type === "error" ? yield* refusalOf(job, showing.named) : null
    if (refusal !== null) return refusal
    return body.stream === true
      ? yield* streams.respond(background.events(job), {
          headers: headersIn(first, headersOf),
          writing: showing.writing()
        })
      : yield* whole(job, chat, first)
  })

  return Effect.fnUntraced(function* (chat: KeyedChat) {
    const problem = problemOf(chat.body)
    if (problem !== null) return yield* problem
    return yield* attach(chat).pipe(
      // The job that the key was used for has been refused or deleted meanwhile, which frees the key.
      Effect.catchTag("ResponseNotFound", () => attach(chat)),
      Effect.raceFirst(cutoff)
    )
  })
})
