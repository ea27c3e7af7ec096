import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { CurrentUser } from "../domain/Account.ts"
import type { ConversationId } from "../domain/Ids.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { EventStreams } from "../http/Sse.ts"
import { Responses } from "../responses/Responses.ts"
import { isBackground, makeCreate, refuseKey } from "./BackgroundCreation.ts"
import { makeKeepBroken } from "./BrokenResponses.ts"
import { makeNamingPrevious } from "./Continuations.ts"
import { contradictionIn } from "./Contradictions.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { renderResponse } from "./ItemRendering.ts"
import { namingLogprobs } from "./Logprobs.ts"
import { withOwnTools } from "./OwnTools.ts"
import { makeWriting } from "./Rendering.ts"
import { readRequest } from "./RequestReading.ts"
import { Sealing } from "./Sealing.ts"

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
export const ResponsesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "responses",
  Effect.fn(function* (handlers) {
    const responses = yield* Responses
    const keepBroken = yield* makeKeepBroken
    const namingPrevious = yield* makeNamingPrevious
    const drain = yield* Drain
    const streams = yield* EventStreams
    const createInBackground = yield* makeCreate
    const sealing = yield* Sealing

    const create = Effect.fnUntraced(function* ({ payload: given, request: incoming }: CreateRequest) {
      const payload = yield* withOwnTools(given, incoming)
      const contradiction = contradictionIn(payload)
      if (contradiction !== null) return yield* contradiction
      if (isBackground(payload, incoming)) {
        return yield* Effect.catchTag(
          createInBackground(payload, incoming),
          "ConversationNotFound",
          namingPrevious(payload)
        )
      }
      const caller = yield* CurrentUser
      const { demands, request, unused, view } = yield* readRequest(payload, sealing.of(caller.userId))
      const ignored = yield* ignoredHeader(incoming, payload, documented, unused)
      const headersOf = (id: ConversationId, answer: { readonly lacksLogprobs?: true }) => ({
        ...namingConversation(payload, id),
        ...namingLogprobs(ignored, payload, answer)
      })
      if (payload.stream === true) {
        const begun = yield* responses
          .create(request, demands)
          .pipe(
            Effect.catchTag("ConversationNotFound", namingPrevious(request)),
            Effect.raceFirst(drain.cutoff)
          )
        return yield* streams.respond(begun.events, {
          headers: headersOf(begun.conversationId, begun),
          writing: makeWriting(view),
          broken: keepBroken(caller, payload, begun)
        })
      }
      const response = yield* responses
        .answer(request, demands)
        .pipe(
          Effect.catchTag("ConversationNotFound", namingPrevious(request)),
          Effect.raceFirst(drain.cutoff)
        )
      return HttpServerResponse.jsonUnsafe(renderResponse(response, view), {
        headers: headersOf(response.conversation_id, response)
      })
    }, enveloped)
    /** Counting continues no turn, because nothing is stored, so that it waits for no other request. */
    const countInput = Effect.fnUntraced(function* ({ payload: given, request: incoming }: CreateRequest) {
      yield* refuseKey(incoming)
      const payload = yield* withOwnTools(given, incoming)
      const contradiction = contradictionIn(payload)
      if (contradiction !== null) return yield* contradiction
      const { userId } = yield* CurrentUser
      const { demands, request, unused } = yield* readRequest(payload, sealing.of(userId))
      const tokens = yield* responses
        .countInput(request, demands)
        .pipe(
          Effect.catchTag("ConversationNotFound", namingPrevious(request)),
          Effect.raceFirst(drain.cutoff)
        )
      return HttpServerResponse.jsonUnsafe(
        { object: "response.input_tokens", input_tokens: tokens },
        { headers: yield* ignoredHeader(incoming, payload, documented, unused) }
      )
    }, enveloped)

    return handlers.handle("create", create).handle("countInput", countInput)
  })
)
