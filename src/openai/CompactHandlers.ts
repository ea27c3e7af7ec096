import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CompactBody, type CompactedResponse } from "../api/openai/CompactApi.ts"
import { encodeSummary } from "../api/openai/Compaction.ts"
import type { CreateBody } from "../api/openai/CreateBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ResponseObject, WholeUsage } from "../api/ResponseObject.ts"
import { CurrentUser } from "../domain/Account.ts"
import { InvalidRequest, ModelFailure } from "../domain/Errors.ts"
import { Drain } from "../http/Drain.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Responses } from "../responses/Responses.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { makeNamingPrevious } from "./Continuations.ts"
import { problemOfItems } from "./Contradictions.ts"
import { ignoredHeader } from "./IgnoredParts.ts"
import { readRequest } from "./RequestReading.ts"
import { Sealing } from "./Sealing.ts"

const millisPerSecond = 1_000

/** The last message, so that it holds for all that comes before it. */
const question =
  "Summarize this conversation so far, so that it can be continued from the summary alone. Keep what the user wants and has decided, " +
  "facts, names, numbers, ids and code that may matter later, the results of tools, and what is still open. Write in the language " +
  "of the conversation. Answer with the summary only."

type Item = Exclude<CreateBody["input"], string>[number]

const itemsOf = (input: CompactBody["input"]): ReadonlyArray<Item> =>
  typeof input === "string" ? [{ role: "user", content: input }] : (input ?? [])

const noUsage: WholeUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0
}

const compacted = (response: ResponseObject): CompactedResponse => ({
  id: shownId("response", response.id),
  object: "response.compaction",
  created_at: Math.floor(response.created_at / millisPerSecond),
  output: [
    {
      id: shownId("compaction", response.id),
      type: "compaction",
      encrypted_content: encodeSummary(response.output_text)
    }
  ],
  usage: response.usage ?? noUsage
})

const isSummary = (response: ResponseObject): boolean =>
  response.status === "completed" && response.incomplete_details === null

const documented = Object.keys(CompactBody.fields)

export const CompactHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "compact",
  Effect.fn(function* (handlers) {
    const responses = yield* Responses
    const namingPrevious = yield* makeNamingPrevious
    const drain = yield* Drain
    const sealing = yield* Sealing

    return handlers.handle(
      "create",
      Effect.fnUntraced(function* ({ payload, request: incoming }) {
        yield* refuseKey(incoming)
        const { input, instructions, model, previous_response_id, prompt_cache_key } = payload
        if ((input == null || input.length === 0) && previous_response_id == null) {
          return yield* new InvalidRequest({
            param: "input",
            message: "`input` is missing. Send it, or `previous_response_id`."
          })
        }
        const problem = problemOfItems(input, "input")
        if (problem !== null) return yield* problem
        const { userId } = yield* CurrentUser
        const body: CreateBody = {
          model,
          instructions,
          previous_response_id,
          prompt_cache_key,
          input: [...itemsOf(input), { role: "user", content: question }],
          // The summary is made of what is there already.
          tool_choice: "none",
          store: false
        }
        const { demands, request, unused } = yield* readRequest(body, sealing.of(userId))
        const response = yield* responses
          .answer(request, demands)
          .pipe(
            Effect.catchTag("ConversationNotFound", namingPrevious(request)),
            Effect.raceFirst(drain.cutoff)
          )
        if (!isSummary(response)) {
          // A client would put it in the place of its conversation.
          return yield* new ModelFailure({
            reason: "malformed",
            provider: "",
            model: response.model,
            detail: "the summary of a conversation was empty, cut or withheld"
          })
        }
        return HttpServerResponse.jsonUnsafe(compacted(response), {
          headers: yield* ignoredHeader(incoming, payload, documented, unused)
        })
      }, enveloped)
    )
  })
)
