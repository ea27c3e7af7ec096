import { Schema } from "effect"
import { TokenLogprob } from "../../domain/ModelCall.ts"
import { Metadata } from "./Fields.ts"

/** An answer of `POST /openai/v1/chat/completions`, as one document or as chunks of a stream. */

export const ChatUsage = Schema.Struct({
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  total_tokens: Schema.Int,
  prompt_tokens_details: Schema.Struct({
    cached_tokens: Schema.Int,
    cache_write_tokens: Schema.Int,
    audio_tokens: Schema.Literal(0)
  }),
  completion_tokens_details: Schema.Struct({
    reasoning_tokens: Schema.Int,
    audio_tokens: Schema.Literal(0),
    accepted_prediction_tokens: Schema.Literal(0),
    rejected_prediction_tokens: Schema.Literal(0)
  })
}).annotate({ identifier: "ChatCompletionUsage" })
export type ChatUsage = typeof ChatUsage.Type

export const FinishReason = Schema.Literals([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "function_call"
])
export type FinishReason = typeof FinishReason.Type

const head = {
  id: Schema.String,
  /** Unix epoch in seconds. */
  created: Schema.Int,
  /** The model that answers, never `auto`. */
  model: Schema.String,
  service_tier: Schema.Literal("default"),
  system_fingerprint: Schema.Null
}

/** The logprobs of the text; null unless they were asked for and the text has some. */
const logprobs = Schema.NullOr(Schema.Struct({ content: Schema.Array(TokenLogprob), refusal: Schema.Null }))

const CalledFunction = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

/** The call of a tool whose input is a text. */
const CalledCustom = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("custom"),
  custom: Schema.Struct({ name: Schema.String, input: Schema.String })
})

export const ChatCompletion = Schema.Struct({
  ...head,
  object: Schema.Literal("chat.completion"),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      message: Schema.Struct({
        role: Schema.Literal("assistant"),
        /** Null if the answer is calls of functions only, or a refusal. */
        content: Schema.NullOr(Schema.String),
        /**
         * The thoughts of the model, if its server shows them. OpenAI has no field for them; most other
         * servers have this one.
         */
        reasoning_content: Schema.optionalKey(Schema.String),
        /** Text by which the model refuses to answer, where its server tells. */
        refusal: Schema.NullOr(Schema.String),
        annotations: Schema.Array(Schema.Unknown),
        tool_calls: Schema.optionalKey(Schema.Array(Schema.Union([CalledFunction, CalledCustom]))),
        /** In the place of `tool_calls`, where the request has `functions`. */
        function_call: Schema.optionalKey(CalledFunction.fields.function)
      }),
      logprobs,
      finish_reason: FinishReason
    })
  ),
  usage: ChatUsage,
  /** Only if the request has some. */
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "ChatCompletion" })
export type ChatCompletion = typeof ChatCompletion.Type

const FunctionDelta = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  arguments: Schema.String
})

const CustomDelta = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  input: Schema.String
})

const Delta = Schema.Struct({
  role: Schema.optionalKey(Schema.Literal("assistant")),
  content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  refusal: Schema.optionalKey(Schema.String),
  reasoning_content: Schema.optionalKey(Schema.String),
  tool_calls: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        index: Schema.Int,
        id: Schema.optionalKey(Schema.String),
        type: Schema.optionalKey(Schema.Literals(["function", "custom"])),
        function: Schema.optionalKey(FunctionDelta),
        custom: Schema.optionalKey(CustomDelta)
      })
    )
  ),
  function_call: Schema.optionalKey(FunctionDelta)
})
export type Delta = typeof Delta.Type

export const ChatChunk = Schema.Struct({
  ...head,
  object: Schema.Literal("chat.completion.chunk"),
  /** Empty in the last chunk, which has the usage. */
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      delta: Delta,
      logprobs,
      finish_reason: Schema.NullOr(FinishReason)
    })
  ),
  /** Only with `stream_options.include_usage`; null in all chunks but the last. */
  usage: Schema.optionalKey(Schema.NullOr(ChatUsage))
}).annotate({ identifier: "ChatCompletionChunk" })
export type ChatChunk = typeof ChatChunk.Type
