import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ListedConversations } from "../conversations/ListedConversations.ts"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { CurrentUser } from "../domain/Account.ts"
import { ResponseNotFound } from "../domain/Errors.ts"
import type { ConversationId, ResponseId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { makeWriting, EventStreams } from "../http/Sse.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { keyOf } from "../jobs/IdempotencyKey.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { imagesIn, titleOfQuestion } from "./QuestionReading.ts"

interface OfResponse {
  readonly conversation_id: ConversationId
  readonly response_id: ResponseId
}

/**
 * Questions of the signed-in user, and their answers. Each answer is a job, so that it doesn't end with a
 * connection.
 */
export const AnswersHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "answers",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* ListedConversations
    const background = yield* BackgroundResponses
    const drain = yield* Drain
    const streams = yield* EventStreams
    const jobs = yield* ResponseJobs

    const follow = (job: ResponseJob) =>
      streams.respond(background.follow(job), {
        headers: { "x-response-id": job.responseId, "x-conversation-id": job.conversationId ?? "" },
        writing: makeWriting("streamed")
      })

    const find = Effect.fnUntraced(function* ({ conversation_id, response_id }: OfResponse) {
      const { userId } = yield* CurrentUser
      const job = yield* jobs.find(userId, response_id)
      return job?.kind === "question" && job.conversationId === conversation_id
        ? job
        : yield* new ResponseNotFound()
    })

    return handlers.handleAll({
      ask: Effect.fnUntraced(function* ({ params, payload, request }) {
        const { again = null, input, replaces = null } = payload
        const { userId } = yield* CurrentUser
        for (const id of imagesIn(input)) yield* conversations.image(userId, params.conversation_id, id)
        const asked = {
          kind: "question" as const,
          conversationId: params.conversation_id,
          replaces,
          again,
          input,
          title: titleOfQuestion(input)
        }
        const job = yield* background.submit(asked, false, yield* keyOf(request))
        yield* Effect.raceFirst(background.begun(job), drain.cutoff)
        return yield* follow(job)
      }, enveloped),
      events: Effect.fnUntraced(function* ({ params }) {
        return yield* follow(yield* find(params))
      }, enveloped),
      cancel: Effect.fnUntraced(function* ({ params }) {
        const { responseId, userId } = yield* find(params)
        return { cancelled: yield* background.cancel(userId, responseId) }
      }, enveloped),
      image: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        const { bytes, mediaType } = yield* conversations.image(
          userId,
          params.conversation_id,
          params.image_id
        )
        return HttpServerResponse.uint8Array(bytes, {
          contentType: mediaType,
          headers: {
            "x-content-type-options": "nosniff",
            "content-security-policy": "default-src 'none'; sandbox"
          }
        })
      }, enveloped)
    })
  })
)
