import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { expectedStorable, isStorable } from "../../domain/storable.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { ChatBody } from "./ChatBody.ts"
import { ChatUsage } from "./ChatCompletion.ts"
import { Label, likeliest, maybe, only } from "./Fields.ts"

/** `POST /openai/v1/completions`, by which editors complete a text. */

/** Answers that one request may ask for: its prompts, each as often as `n` says. */
export const completionChoicesMax = 20

/** The older interface has fewer of the likeliest tokens. */
const logprobsMax = 5

const noTokens = "lists of tokens are not taken"

const Prompt = Schema.String.annotate({ expected: `a text: ${noTokens}` }).check(
  Schema.makeFilter(isStorable, { expected: expectedStorable })
)

const promptWords = `a text, or a list of at most ${completionChoicesMax} texts: ${noTokens}`

/** These fields mean the same as those of a chat by the same names. */
const {
  frequency_penalty,
  logit_bias,
  max_tokens,
  model,
  n,
  presence_penalty,
  seed,
  stop,
  stream,
  stream_options,
  temperature,
  top_p
} = ChatBody.fields

export const CompletionsBody = Schema.Struct({
  model,
  prompt: Schema.Union([
    Prompt,
    Schema.NonEmptyArray(Prompt).check(
      Schema.isMaxLength(completionChoicesMax, {
        expected: `a list of at most ${completionChoicesMax} texts`
      })
    )
  ]).annotate({ expected: promptWords }),
  suffix: maybe(StorableText).annotate({ description: "What follows the text that the model writes." }),
  echo: maybe(Schema.Boolean).annotate({
    description: "True puts the prompt before the text that the model writes.",
    expected: "true, false or null",
    default: false
  }),
  stream,
  stream_options,
  n,
  best_of: maybe(only(1, "every answer is shown; send `n`")),
  max_tokens,
  temperature,
  top_p,
  presence_penalty,
  frequency_penalty,
  seed,
  stop,
  logprobs: maybe(likeliest(logprobsMax)),
  logit_bias,
  user: maybe(Label)
}).annotate({ identifier: "CreateCompletionBody", expected: "a JSON object" })
export type CompletionsBody = typeof CompletionsBody.Type

const BodyWithRest = withUnknownFields(CompletionsBody).annotate({
  identifier: "CreateCompletionBody",
  expected: "a JSON object"
})

export const CompletionFinish = Schema.Literals(["stop", "length", "content_filter"])
export type CompletionFinish = typeof CompletionFinish.Type

const head = {
  id: Schema.String,
  object: Schema.Literal("text_completion"),
  /** Unix epoch in seconds. */
  created: Schema.Int,
  /** The model that answers, never `auto`. */
  model: Schema.String,
  system_fingerprint: Schema.Null
}

const logprobs = Schema.NullOr(
  Schema.Struct({
    tokens: Schema.Array(Schema.String),
    token_logprobs: Schema.Array(Schema.Finite),
    /** The logprobs by their tokens. The chosen one is always among them. */
    top_logprobs: Schema.Array(Schema.Record(Schema.String, Schema.Finite)),
    /** The places at which the tokens begin in the text, in UTF-16 units. */
    text_offset: Schema.Array(Schema.Int)
  })
)

export const TextCompletion = Schema.Struct({
  ...head,
  choices: Schema.Array(
    Schema.Struct({
      text: Schema.String,
      index: Schema.Int,
      logprobs,
      finish_reason: CompletionFinish
    })
  ),
  usage: ChatUsage
}).annotate({ identifier: "TextCompletion" })
export type TextCompletion = typeof TextCompletion.Type

export const TextChunk = Schema.Struct({
  ...head,
  /** Empty in the last chunk, which has the usage. */
  choices: Schema.Array(
    Schema.Struct({
      text: Schema.String,
      index: Schema.Int,
      logprobs,
      finish_reason: Schema.NullOr(CompletionFinish)
    })
  ),
  /** Only with `stream_options.include_usage`; null in all chunks but the last. */
  usage: Schema.optionalKey(Schema.NullOr(ChatUsage))
}).annotate({ identifier: "TextCompletionChunk" })
export type TextChunk = typeof TextChunk.Type

export class CompletionsApi extends HttpApiGroup.make("completions")
  .add(
    HttpApiEndpoint.post("create", "/completions", {
      payload: BodyWithRest,
      success: [TextCompletion, HttpApiSchema.StreamSse({ data: TextChunk })]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Complete a text",
        description:
          "A model of chats is instructed to continue the text of `prompt`, or to write what belongs between it and `suffix`. The service's own " +
          "tools are not offered, and nothing is stored. With `stream: true` the answer comes in chunks, one `data:` line each, and " +
          "ends with `data: [DONE]`."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Completions", description: "Completion of texts." })) {}
