import { Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ResponseResource } from "../api/openai/ResponseResource.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { CurrentUser } from "../domain/Account.ts"
import { unless } from "../domain/Alarm.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { leanGroup } from "../http/LeanRequests.ts"
import { EventStreams } from "../http/Sse.ts"
import { Responses } from "../responses/Responses.ts"
import { makeKeepBroken } from "./BrokenResponses.ts"
import { makeNamingPrevious } from "./Continuations.ts"
import { contradictionIn } from "./Contradictions.ts"
import { isDetached } from "./DetachedCreation.ts"
import { makeDetached } from "./DetachedResponses.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import type { View } from "./ItemRendering.ts"
import { makeWriting } from "./ProfileWriting.ts"
import { makeRenderer } from "./Rendering.ts"
import { readRequest } from "./RequestReading.ts"

/** The response of a whole stream, as its last event has it. */
export const collectRendered = <E, R>(
  events: Stream.Stream<EventBody, E, R>,
  view: View
): Effect.Effect<ResponseResource, E, R> =>
  Effect.suspend(() => {
    const { event } = makeRenderer(view)
    let response: ResponseResource | null = null
    return Stream.runForEachArray(events, (batch) =>
      Effect.sync(() => {
        for (const rendered of batch.flatMap(event)) if ("response" in rendered) response = rendered.response
      })
    ).pipe(
      Effect.flatMap(() =>
        response === null
          ? Effect.die(new Error("The stream of a response had no response."))
          : Effect.succeed(response)
      )
    )
  })

/** A new conversation of what isn't stored isn't there. */
const namingConversation = (
  { conversation, previous_response_id, store }: CreateBody,
  id: ConversationId
): Readonly<Record<string, string>> =>
  store === false && conversation == null && previous_response_id == null
    ? {}
    : { "x-conversation-id": shownId("conversation", id) }

const documented = Object.keys(CreateBody.fields)

interface CreateRequest {
  readonly payload: CreateBody
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Creates responses, streamed or whole, from the same core as `/v1`. */
export const ResponsesHandlers = leanGroup(
  Effect.gen(function* () {
    const responses = yield* Responses
    const keepBroken = yield* makeKeepBroken
    const namingPrevious = yield* makeNamingPrevious
    const drain = yield* Drain
    const streams = yield* EventStreams
    const detached = yield* makeDetached

    return Effect.fnUntraced(function* ({ payload, request: incoming }: CreateRequest) {
      const contradiction = contradictionIn(payload)
      if (contradiction !== null) return yield* contradiction
      if (isDetached(payload, incoming)) {
        return yield* detached
          .create(payload, incoming)
          .pipe(Effect.catchTag("ConversationNotFound", namingPrevious(payload)))
      }
      const { demands, request, view } = readRequest(payload)
      const begun = yield* responses
        .create(request, demands)
        .pipe(Effect.catchTag("ConversationNotFound", namingPrevious(request)), unless(drain.cutoff))
      const headers = {
        ...namingConversation(payload, begun.conversationId),
        ...(yield* ignoredHeader(incoming, payload, documented))
      }
      if (payload.stream === true) {
        const writing = makeWriting(view)
        return yield* streams.respond(begun.events, {
          headers,
          lost: begun.lost,
          outlet: begun.outlet,
          writing,
          broken: keepBroken(yield* CurrentUser, payload, begun)
        })
      }
      const whole = collectRendered(begun.events, view)
      const response = yield* Effect.onError(unless(drain.cutoff, begun.lost)(whole), () => begun.forget)
      return HttpServerResponse.jsonUnsafe(response, { headers })
    }, enveloped)
  }),
  (create) => HttpApiBuilder.group(OpenAiApi, "responses", (handlers) => handlers.handle("create", create))
)
