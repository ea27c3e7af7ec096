import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ignoredNames } from "../api/IgnoredFields.ts"
import { ChatBody } from "../api/openai/ChatBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { FileNotFound, FileNotReady, FileUnreadable } from "../domain/Errors.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { dataFrame, streamResponse, type Writing } from "../http/Sse.ts"
import { collect } from "../responses/EventStream.ts"
import { Responses, type RequestFailure } from "../responses/Responses.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { readChat } from "./ChatReading.ts"
import { chatError, type ChatView, makeChatRenderer, renderCompletion } from "./ChatRendering.ts"

const lastFrame = "data: [DONE]\n\n"

/** Writes the events of one response as chunks. */
export const makeChatWriting = (view: ChatView): Writing => {
  const chunksOf = makeChatRenderer(view)
  return {
    event: (event) => chunksOf(event).map(dataFrame).join(""),
    failure: (body) => dataFrame(chatError(body)),
    end: lastFrame
  }
}

/** An error names the message that it is about, and not the entry that was made of it. */
const withPaths = (error: RequestFailure, paths: ReadonlyArray<string>): RequestFailure => {
  const named = (param: string) =>
    param.replace(/^input\[(\d+)\]/, (_, index: string) => paths[Number(index)] ?? "messages")
  switch (error._tag) {
    case "FileNotFound":
      return new FileNotFound({ param: named(error.param) })
    case "FileNotReady":
      return new FileNotReady({ param: named(error.param) })
    case "FileUnreadable":
      return new FileUnreadable({ reason: error.reason, param: named(error.param) })
    default:
      return error
  }
}

const documented = Object.keys(ChatBody.fields)

/** Answers chats, streamed or whole, from the same core as `/v1`. */
export const ChatHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "chat",
  Effect.fn(function* (handlers) {
    const responses = yield* Responses
    const drain = yield* Drain
    const { keepaliveSeconds } = (yield* AppConfig).stream

    return handlers.handle(
      "create",
      Effect.fnUntraced(
        function* ({ payload }) {
          const { demands, paths, request } = yield* Effect.fromResult(readChat(payload))
          const begun = yield* responses.create(request, demands).pipe(
            Effect.mapError((error) => withPaths(error, paths)),
            Effect.raceFirst(drain.cutoff)
          )
          const view: ChatView = {
            includeUsage: payload.stream_options?.include_usage === true,
            metadata: payload.metadata ?? null
          }
          const headers = {
            ...(payload.store === true
              ? { "x-conversation-id": shownId("conversation", begun.conversationId) }
              : {}),
            ...ignoredNames(payload, documented)
          }
          if (payload.stream === true) {
            const writing = makeChatWriting(view)
            return yield* streamResponse(begun.events, {
              headers,
              keepaliveSeconds,
              lost: begun.lost,
              writing
            })
          }
          const whole = collect(begun.events)
          const response = yield* Effect.raceAllFirst([whole, drain.cutoff, begun.lost])
          return HttpServerResponse.jsonUnsafe(renderCompletion(response, view), { headers })
        },
        Effect.provideService(Drain, drain),
        enveloped
      )
    )
  })
)
