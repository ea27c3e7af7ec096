import { Array as Arr, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { CompletionsBody } from "../api/openai/CompletionsApi.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { envelopedAs } from "../http/ErrorBoundary.ts"
import { EventStreams } from "../http/Sse.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { makeChunkWriting } from "./ChatShowing.ts"
import { lackOf, makeChoices } from "./Choices.ts"
import { promptsOf, readCompletions } from "./CompletionReading.ts"
import { type CompletionView, makeCompletionRenderer, renderCompletions } from "./CompletionRendering.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { namingLogprobs } from "./Logprobs.ts"

/** An error names what the body has, and not what was made of it. */
const inOwnNames = (error: ErrorBody): ErrorBody => {
  const { message, param } = error
  if (!param) return error
  const name = param.startsWith("input") ? "prompt" : param === "max_output_tokens" ? "max_tokens" : param
  return { ...error, param: name, message: message.replaceAll(`\`${param}\``, `\`${name}\``) }
}

const documented = Object.keys(CompletionsBody.fields)

interface CompletionRequest {
  readonly payload: CompletionsBody
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Completes texts, streamed or whole. */
export const CompletionsHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "completions",
  Effect.fn(function* (handlers) {
    const choices = yield* makeChoices
    const streams = yield* EventStreams

    const create = Effect.fnUntraced(function* ({ payload, request }: CompletionRequest) {
      yield* refuseKey(request)
      const asked = yield* Effect.fromResult(readCompletions(payload))
      const view: CompletionView = {
        includeUsage: payload.stream_options?.include_usage === true,
        before:
          payload.echo === true
            ? promptsOf(payload).flatMap((prompt) => Arr.replicate(prompt, payload.n ?? 1))
            : []
      }
      const ignored = yield* ignoredHeader(request, payload, documented)
      if (payload.stream === true) {
        const begun = yield* choices.begin(asked)
        return yield* streams.respond(begun.events, {
          headers: namingLogprobs(ignored, payload, begun),
          writing: makeChunkWriting(makeCompletionRenderer(view, asked.length), inOwnNames)
        })
      }
      const answers = yield* choices.answer(asked)
      return HttpServerResponse.jsonUnsafe(renderCompletions(answers, view), {
        headers: namingLogprobs(ignored, payload, lackOf(answers))
      })
    }, envelopedAs(inOwnNames))
    return handlers.handle("create", create)
  })
)
