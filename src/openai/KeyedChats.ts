import { Effect, Option, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { ChatBody } from "../api/openai/ChatBody.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseJob } from "../conversations/ResponseJobs.ts"
import { type InvalidRequest, ResponseInterrupted, invalid } from "../domain/Errors.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { EventStreams } from "../http/Sse.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { makeReading, respondFailed } from "./BackgroundReading.ts"
import { readChat } from "./ChatReading.ts"
import type { ChatShowing } from "./ChatShowing.ts"

/**
 * Chats with an Idempotency-Key: each is answered once, apart from its requests, and its events are kept to
 * be shown again.
 */

const encodeBody = Schema.encodeEffect(ChatBody)
const decodeBody = Schema.decodeUnknownEffect(ChatBody)

/** Reads a chat as a job has it. */
export const readChatJob = Effect.fnUntraced(function* (job: unknown) {
  const body = yield* Effect.orDie(decodeBody(job))
  const { demands, request } = yield* Effect.orDie(Effect.fromResult(readChat(body)))
  return { request, demands, showsPassages: false }
})

const problemOf = ({ n, store }: ChatBody): InvalidRequest | null => {
  if (store === false)
    return invalid(
      "store",
      "can't be false with an Idempotency-Key, because the answer is kept to be shown again."
    )
  return (n ?? 1) > 1 ? invalid("n", "must be 1 with an Idempotency-Key.") : null
}

/** A chat, and how one of its requests is shown its answer. */
interface KeyedChat {
  readonly body: ChatBody
  readonly key: string
  readonly showing: ChatShowing
  readonly headersOf: (
    id: ConversationId,
    answered: { readonly lacksLogprobs?: true }
  ) => Readonly<Record<string, string>>
}

/** The headers of an answer that has begun. */
const headersIn = (first: EventBody | null, headersOf: KeyedChat["headersOf"]) =>
  first?.type === "response.created" ? headersOf(first.response.conversation_id, first.response) : {}

export const makeKeyedChats = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const { cutoff } = yield* Drain
  const streams = yield* EventStreams
  const { begun, submit } = yield* makeReading

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
    return respondFailed(last.error)
  })

  const attach = Effect.fnUntraced(function* (chat: KeyedChat) {
    const { body, headersOf, key, showing } = chat
    const request = yield* Effect.orDie(encodeBody(body))
    const job = yield* submit({ kind: "chat", request }, false, key, body.store === true)
    const { first, refusal } = yield* begun(job, showing.named)
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
