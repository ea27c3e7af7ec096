import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ChatBody } from "../api/openai/ChatBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, envelopedAs } from "../http/ErrorBoundary.ts"
import { EventStreams } from "../http/Sse.ts"
import { keyOf } from "../jobs/IdempotencyKey.ts"
import { Responses } from "../responses/Responses.ts"
import { type ReadChat, readChat } from "./ChatReading.ts"
import { type ChatShowing, showingOf } from "./ChatShowing.ts"
import { lackOf, makeChoices, repeated } from "./Choices.ts"
import { ignoredHeader, ignoredHints } from "./IgnoredParts.ts"
import { makeKeyedChats } from "./KeyedChats.ts"
import { namingLogprobs } from "./Logprobs.ts"
import { withOwnTools } from "./OwnTools.ts"

const documented = Object.keys(ChatBody.fields)

interface ChatRequest {
  readonly payload: ChatBody
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Answers chats, streamed or whole, from the same core as `/v1`. */
export const ChatHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "chat",
  Effect.fn(function* (handlers) {
    const responses = yield* Responses
    const drain = yield* Drain
    const streams = yield* EventStreams
    const choices = yield* makeChoices
    const keyed = yield* makeKeyedChats

    /** Several answers, of which nothing is stored. */
    const answerAll = Effect.fnUntraced(function* (
      body: ChatBody,
      read: ReadChat,
      showing: ChatShowing,
      ignored: Readonly<Record<string, string>>
    ) {
      const asked = repeated(read, body.n ?? 1)
      if (body.stream === true) {
        const begun = yield* choices.begin(asked)
        const headers = namingLogprobs(ignored, body, begun)
        return yield* streams.respond(begun.events, { headers, writing: showing.allWriting(asked.length) })
      }
      const answers = yield* choices.answer(asked)
      const headers = namingLogprobs(ignored, body, lackOf(answers))
      return HttpServerResponse.jsonUnsafe(showing.allWhole(answers), { headers })
    })

    const answer = Effect.fnUntraced(function* (
      body: ChatBody,
      incoming: HttpServerRequest.HttpServerRequest,
      read: ReadChat,
      showing: ChatShowing
    ) {
      const { demands, request } = read
      const ignored = yield* ignoredHeader(incoming, body, documented, ignoredHints(body))
      const headersOf = (id: ConversationId, answered: { readonly lacksLogprobs?: true }) => ({
        ...(body.store === true ? { "x-conversation-id": shownId("conversation", id) } : {}),
        ...namingLogprobs(ignored, body, answered)
      })
      const key = yield* keyOf(incoming)
      if (key !== null) return yield* keyed({ body, key, showing, headersOf })
      if ((body.n ?? 1) > 1) return yield* answerAll(body, read, showing, ignored)
      if (body.stream === true) {
        const begun = yield* Effect.raceFirst(responses.create(request, demands), drain.cutoff)
        const headers = headersOf(begun.conversationId, begun)
        return yield* streams.respond(begun.events, { headers, writing: showing.writing() })
      }
      const response = yield* Effect.raceFirst(responses.answer(request, demands), drain.cutoff)
      return HttpServerResponse.jsonUnsafe(showing.whole(response), {
        headers: headersOf(response.conversation_id, response)
      })
    })

    const create = Effect.fnUntraced(function* ({ payload: given, request }: ChatRequest) {
      const payload = yield* withOwnTools(given, request)
      const read = yield* Effect.fromResult(readChat(payload))
      const showing = showingOf(payload, read)
      return yield* answer(payload, request, read, showing).pipe(envelopedAs(showing.named))
    }, enveloped)
    return handlers.handle("create", create)
  })
)
