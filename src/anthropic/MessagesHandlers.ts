import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AnthropicApi } from "../api/anthropic/AnthropicApi.ts"
import type { MessageEvent } from "../api/anthropic/Message.ts"
import { MessagesBody } from "../api/anthropic/MessagesBody.ts"
import { messagesError } from "../api/anthropic/MessagesError.ts"
import { ignoredNames } from "../api/IgnoredFields.ts"
import { CurrentUser } from "../domain/Account.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped, envelopedAs } from "../http/ErrorBoundary.ts"
import { EventStreams, namedFrame, type Writing } from "../http/Sse.ts"
import { Sealing } from "../openai/Sealing.ts"
import { PromptCount } from "../responses/PromptCount.ts"
import { Responses } from "../responses/Responses.ts"
import { type ReadMessages, readMessages } from "./MessagesReading.ts"
import { makeMessagesRenderer, renderMessage } from "./MessagesRendering.ts"
import { inMessagesWords } from "./MessagesWording.ts"

const frameOf = (event: MessageEvent): string => namedFrame(event.type, event)

const internalStatus = 500

/** Writes the events of one response, each under its own name. */
const makeMessagesWriting = ({ places, view }: ReadMessages): Writing => {
  const eventsOf = makeMessagesRenderer(view)
  const worded = inMessagesWords(places)
  return {
    event: (event) => eventsOf(event).map(frameOf).join(""),
    failure: (body, status = internalStatus) => frameOf(messagesError({ body: worded(body), status })),
    keepalive: frameOf({ type: "ping" }),
    end: ""
  }
}

/** The fields that are honoured, and the hints that change no answer. */
const known = [...Object.keys(MessagesBody.fields), "cache_control", "metadata", "service_tier", "betas"]

/** Answers conversations, streamed or whole, from the same core as `/v1`. */
export const MessagesHandlers = HttpApiBuilder.group(
  AnthropicApi,
  "messages",
  Effect.fn(function* (handlers) {
    const responses = yield* Responses
    const counts = yield* PromptCount
    const sealing = yield* Sealing
    const drain = yield* Drain
    const streams = yield* EventStreams

    const read = Effect.fnUntraced(function* (body: MessagesBody) {
      const { userId } = yield* CurrentUser
      return yield* readMessages(body, sealing.of(userId))
    })

    const answer = Effect.fnUntraced(function* (body: MessagesBody, messages: ReadMessages) {
      const { demands, request, unused, view } = messages
      const headers = ignoredNames(body, known, unused)
      if (body.stream === true) {
        const begun = yield* Effect.raceFirst(responses.create(request, demands), drain.cutoff)
        return yield* streams.respond(begun.events, { headers, writing: makeMessagesWriting(messages) })
      }
      const response = yield* Effect.raceFirst(responses.answer(request, demands), drain.cutoff)
      return HttpServerResponse.jsonUnsafe(renderMessage(response, view), { headers })
    })

    const create = Effect.fnUntraced(function* ({ payload }: { readonly payload: MessagesBody }) {
      const messages = yield* read(payload)
      return yield* answer(payload, messages).pipe(envelopedAs(inMessagesWords(messages.places)))
    }, enveloped)

    const countTokens = Effect.fnUntraced(function* ({ payload }: { readonly payload: MessagesBody }) {
      const { demands, places, request, unused } = yield* read(payload)
      return yield* counts.count(request, demands).pipe(
        Effect.map((tokens) =>
          HttpServerResponse.jsonUnsafe(
            { input_tokens: tokens },
            { headers: ignoredNames(payload, known, unused) }
          )
        ),
        envelopedAs(inMessagesWords(places))
      )
    }, enveloped)

    return handlers.handleAll({ create, countTokens })
  })
)
