import { infiniteQueryOptions } from "@tanstack/react-query"
import { Effect, Stream } from "effect"
import type { ConversationDetail } from "../../../../../api/ConversationObject.ts"
import type { AnswerEvent } from "../../../../../api/ResponseEvent.ts"
import type { ConversationId, ResponseId } from "../../../../../domain/Ids.ts"
import { ask, asking, askForStream } from "../../../client/ask.ts"
import type { ConsoleClient } from "../../../client/consoleClient.ts"
import { requestFailed } from "../../../client/RequestFailed.ts"
import type { Unsent } from "./unsentQuestions.ts"

/** Turns that are read at once. */
const turnsRead = 20

/** True if the requested object is not there any more. */
export const isGone = (failure: unknown): boolean =>
  ["conversation_not_found", "response_not_found"].includes(requestFailed(failure).code)

export const conversationKey = (id: ConversationId) => ["conversation", id] as const

/** The newest turns first; earlier ones page by page. */
export const conversationQuery = (id: ConversationId) =>
  infiniteQueryOptions({
    queryKey: conversationKey(id),
    queryFn: ({ pageParam, signal }): Promise<ConversationDetail> =>
      asking((client) =>
        client.conversations.get({
          params: { conversation_id: id },
          query: { limit: turnsRead, ...(pageParam === null ? {} : { before: pageParam }) }
        })
      )({ signal }),
    initialPageParam: null as ResponseId | null,
    getNextPageParam: ({ turns }: ConversationDetail) => (turns.has_more ? turns.first_id : null)
  })

type Events = Stream.Stream<AnswerEvent, unknown>

const follow =
  (request: (client: ConsoleClient) => Effect.Effect<Events, unknown>) =>
  (signal: AbortSignal, show: (event: AnswerEvent) => void): Promise<void> =>
    askForStream(
      (client) =>
        Effect.flatMap(request(client), (events) =>
          Stream.runForEach(events, (event) => Effect.sync(() => show(event)))
        ),
      signal
    )

/** Asks, and follows the answer. It goes on when the page is left. */
export const askQuestion = (id: ConversationId, { key, question }: Unsent) =>
  follow((client) =>
    client.answers.ask({
      params: { conversation_id: id },
      headers: { "idempotency-key": key },
      payload: question
    })
  )

/** All events of an answer that is being made. */
export const followAnswer = (id: ConversationId, responseId: ResponseId) =>
  follow((client) => client.answers.events({ params: { conversation_id: id, response_id: responseId } }))

export const stopAnswer = (id: ConversationId, responseId: ResponseId) =>
  ask((client) => client.answers.cancel({ params: { conversation_id: id, response_id: responseId } }))

export const discardQuestion = (id: ConversationId, responseId: ResponseId) =>
  ask((client) => client.conversations.discard({ params: { conversation_id: id, response_id: responseId } }))
