import { Effect } from "effect"
import { type Headers, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import type { CreateResponseBody } from "../api/CreateResponse.ts"
import { ignoredFieldHeaders } from "../api/IgnoredFields.ts"
import { shownResponse } from "../api/ResponseObject.ts"
import { Responses } from "../responses/Responses.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { Drain } from "./Drain.ts"
import { enveloped } from "./ErrorBoundary.ts"
import { makeWriting, EventStreams } from "./Sse.ts"

/**
 * A product of the AI SDK, such as `ai-sdk/openai/4.0.1` or `ai-sdk-provider-utils/5.0.81`. The SDK omits
 * `stream` when it wants JSON, and accepts anything. Comments name no product. Source: RFC 9110, section
 * 10.1.5.
 */
const aiSdkProduct = /(?:^|\s)ai-sdk[\w-]*\//
const agentComment = /\([^()]*\)/g

const isAiSdk = (agent: string | undefined): boolean =>
  agent !== undefined && agent.includes("ai-sdk") && aiSdkProduct.test(agent.replace(agentComment, " "))

/**
 * The body decides. Without `stream` in it, events are the default, except for a client that accepts only
 * JSON or is known to expect JSON. Source: wire contract, section 1.
 */
const wantsStream = (stream: boolean | null | undefined, headers: Headers.Headers): boolean => {
  if (stream != null) return stream
  const types = (headers["accept"] ?? "").toLowerCase()
  if (isAiSdk(headers["user-agent"]) && !types.includes("text/event-stream")) return false
  return !types.includes("application/json") || types.includes("text/event-stream") || types.includes("*/*")
}

interface CreateRequest {
  readonly payload: typeof CreateResponseBody.Type
  readonly request: HttpServerRequest.HttpServerRequest
}

/**
 * Creates a response for CurrentUser, and delivers it as the request asks: the one way to do so, of every
 * interface.
 */
export const makeCreateResponse = Effect.gen(function* () {
  const responses = yield* Responses
  const drain = yield* Drain
  const streams = yield* EventStreams
  const { reasoningOnV1 } = (yield* AppConfig).models

  return Effect.fnUntraced(function* ({ payload, request }: CreateRequest) {
    const headersOf = (conversationId: string) => ({
      "x-conversation-id": conversationId,
      ...ignoredFieldHeaders(payload)
    })
    if (wantsStream(payload.stream, request.headers)) {
      const { conversationId, events } = yield* Effect.raceFirst(responses.create(payload), drain.cutoff)
      return yield* streams.respond(events, {
        headers: headersOf(conversationId),
        writing: makeWriting(reasoningOnV1)
      })
    }
    const response = yield* Effect.raceFirst(responses.answer(payload), drain.cutoff)
    return HttpServerResponse.jsonUnsafe(shownResponse(response, reasoningOnV1), {
      headers: headersOf(response.conversation_id)
    })
  }, enveloped)
})

export const ResponsesHandlers = HttpApiBuilder.group(Api, "responses", (handlers) =>
  Effect.map(makeCreateResponse, (create) => handlers.handle("create", create))
)
