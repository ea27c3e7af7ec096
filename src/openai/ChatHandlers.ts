import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { ChatBody } from "../api/openai/ChatBody.ts"
import type { ChatChunk } from "../api/openai/ChatCompletion.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, envelopedAs } from "../http/ErrorBoundary.ts"
import { dataFrame, EventStreams, type Writing } from "../http/Sse.ts"
import { Responses } from "../responses/Responses.ts"
import { type ReadChat, readChat } from "./ChatReading.ts"
import { chatError, type ChatView, makeChatRenderer, renderCompletion } from "./ChatRendering.ts"
import { makeChoicesRenderer, renderChoices } from "./ChoiceRendering.ts"
import { makeChoices, repeated } from "./Choices.ts"
import { refuseKey } from "./DetachedCreation.ts"
import { ignoredHeader, ignoredHints } from "./IgnoredParts.ts"
import { withOwnTools } from "./OwnTools.ts"

const lastFrame = "data: [DONE]\n\n"

/** Writes events as chunks. */
const makeChatWriting = <Event>(
  chunksOf: (event: Event) => ReadonlyArray<ChatChunk>,
  named: (error: ErrorBody) => ErrorBody
): Writing<Event> => ({
  event: (event) => chunksOf(event).map(dataFrame).join(""),
  failure: (body) => dataFrame(chatError(named(body))),
  end: lastFrame
})

/** What the core calls by other names. */
const chatNames: ReadonlyMap<string, string> = new Map([
  ["input", "messages"],
  ["text.format.schema", "response_format.json_schema.schema"],
  ["text.format", "response_format"],
  ["text.verbosity", "verbosity"],
  ["reasoning.effort", "reasoning_effort"],
  ["max_output_tokens", "max_completion_tokens"]
])

/** An error names what the chat has, and not what was made of it. */
const inChatNames =
  (paths: ReadonlyArray<string>) =>
  (error: ErrorBody): ErrorBody => {
    const { message, param } = error
    if (!param) return error
    const name =
      chatNames.get(param) ??
      param.replace(/^input\[(\d+)\]/, (_, index: string) => paths[Number(index)] ?? "messages")
    return { ...error, param: name, message: message.replaceAll(`\`${param}\``, `\`${name}\``) }
  }

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

    /** Several answers, of which nothing is stored. */
    const answerAll = Effect.fnUntraced(function* (
      body: ChatBody,
      read: ReadChat,
      view: ChatView,
      headers: Readonly<Record<string, string>>
    ) {
      const asked = repeated(read, body.n ?? 1)
      return body.stream === true
        ? yield* streams.respond(yield* choices.begin(asked), {
            headers,
            writing: makeChatWriting(makeChoicesRenderer(view, asked.length), inChatNames(read.paths))
          })
        : HttpServerResponse.jsonUnsafe(renderChoices(yield* choices.answer(asked), view), { headers })
    })

    const answer = Effect.fnUntraced(function* (
      body: ChatBody,
      incoming: HttpServerRequest.HttpServerRequest,
      read: ReadChat
    ) {
      const { demands, paths, request } = read
      const view: ChatView = {
        includeUsage: body.stream_options?.include_usage === true,
        metadata: body.metadata ?? null
      }
      const ignored = yield* ignoredHeader(incoming, body, documented, ignoredHints(body))
      if ((body.n ?? 1) > 1) return yield* answerAll(body, read, view, ignored)
      const headersOf = (id: ConversationId) => ({
        ...(body.store === true ? { "x-conversation-id": shownId("conversation", id) } : {}),
        ...ignored
      })
      if (body.stream === true) {
        const begun = yield* Effect.raceFirst(responses.create(request, demands), drain.cutoff)
        const writing = makeChatWriting(makeChatRenderer(view), inChatNames(paths))
        return yield* streams.respond(begun.events, { headers: headersOf(begun.conversationId), writing })
      }
      const response = yield* Effect.raceFirst(responses.answer(request, demands), drain.cutoff)
      return HttpServerResponse.jsonUnsafe(renderCompletion(response, view), {
        headers: headersOf(response.conversation_id)
      })
    })

    const create = Effect.fnUntraced(function* ({ payload: given, request }: ChatRequest) {
      yield* refuseKey(request)
      const payload = yield* withOwnTools(given, request)
      const read = yield* Effect.fromResult(readChat(payload))
      return yield* answer(payload, request, read).pipe(envelopedAs(inChatNames(read.paths)))
    }, enveloped)
    return handlers.handle("create", create)
  })
)
