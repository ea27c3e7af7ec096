import { Schema } from "effect"
import { IncompleteReason, type OutputItem } from "../domain/Conversation.ts"
import { ConversationId, ResponseId } from "../domain/Ids.ts"
import { OwnOutputItem, type ReasoningShown, shownOutputs, type ShownOutputItem } from "./ShownItem.ts"

/** The tokens as the model's provider counted them, or estimated if it doesn't count. */
export const ResponseUsage = Schema.Struct({
  input_tokens: Schema.Int,
  input_tokens_details: Schema.Struct({ cached_tokens: Schema.Int }),
  output_tokens: Schema.Int,
  output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Int }),
  total_tokens: Schema.Int
}).annotate({ identifier: "ResponseUsage" })
export type ResponseUsage = typeof ResponseUsage.Type

/** The usage with the tokens that a provider wrote to its prompt cache, which `/v1` doesn't show. */
export const WholeUsage = Schema.Struct({
  ...ResponseUsage.fields,
  input_tokens_details: Schema.Struct({ cached_tokens: Schema.Int, cache_write_tokens: Schema.Int })
}).annotate({ identifier: "ResponseUsage" })
export type WholeUsage = typeof WholeUsage.Type

/** The usage as `/v1` shows it. */
export const shownUsage = (usage: WholeUsage): ResponseUsage => ({
  ...usage,
  input_tokens_details: { cached_tokens: usage.input_tokens_details.cached_tokens }
})

/**
 * A response: the JSON body, and `response` in the events `response.created` and `response.completed`.
 * Source: specification, ResponseObject; wire contract, section 3.
 */
export const ResponseObject = Schema.Struct({
  id: ResponseId,
  object: Schema.Literal("response"),
  /** Unix epoch in milliseconds. */
  created_at: Schema.Int,
  /** `in_progress` only inside `response.created`. */
  status: Schema.Literals(["in_progress", "completed"]),
  /** The model that answers, never `auto`. */
  model: Schema.String,
  output: Schema.Array(OwnOutputItem),
  /** All text deltas concatenated. */
  output_text: Schema.String,
  conversation_id: ConversationId,
  conversation: Schema.Struct({ id: ConversationId }),
  completed_at: Schema.NullOr(Schema.Int),
  error: Schema.Null,
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: IncompleteReason })),
  instructions: Schema.NullOr(Schema.String),
  max_output_tokens: Schema.NullOr(Schema.Int),
  max_tool_calls: Schema.Null,
  previous_response_id: Schema.NullOr(ResponseId),
  parallel_tool_calls: Schema.Literal(true),
  tool_choice: Schema.Literal("auto"),
  tools: Schema.Array(Schema.Unknown),
  temperature: Schema.Literal(1),
  top_p: Schema.Literal(1),
  presence_penalty: Schema.Literal(0),
  frequency_penalty: Schema.Literal(0),
  top_logprobs: Schema.Literal(0),
  truncation: Schema.Literal("disabled"),
  text: Schema.Struct({ format: Schema.Struct({ type: Schema.Literal("text") }) }),
  reasoning: Schema.Null,
  /** False if nothing is stored: neither the response nor its conversation can be continued. */
  store: Schema.Boolean,
  background: Schema.Literal(false),
  usage: Schema.NullOr(ResponseUsage),
  service_tier: Schema.Literal("default"),
  metadata: Schema.Record(Schema.String, Schema.String),
  safety_identifier: Schema.Null,
  prompt_cache_key: Schema.Null
}).annotate({
  identifier: "ResponseObject",
  description: "The answer as one document. A stream carries it too, in its first and in its last event."
})
/** Its output may also have calls of the client's functions, which no request to `/v1` can ask for. */
export interface ResponseObject extends Omit<typeof ResponseObject.Type, "output" | "usage"> {
  readonly output: ReadonlyArray<OutputItem>
  readonly usage: WholeUsage | null
  /**
   * True if the request asks for logprobs, and the answer has none. Only interfaces by which a request can
   * ask read it.
   */
  readonly lacksLogprobs?: true
}

/** The response as clients see it. */
export const shownResponse = (response: ResponseObject, reasoning: ReasoningShown): ShownResponse => ({
  ...response,
  output: shownOutputs(response.output, reasoning),
  usage: response.usage && shownUsage(response.usage)
})
export interface ShownResponse extends Omit<typeof ResponseObject.Type, "output"> {
  readonly output: ReadonlyArray<typeof ShownOutputItem.Type>
}

/** The fields that differ between responses when they start. */
export interface ResponseStart {
  readonly id: ResponseId
  /** Unix epoch in milliseconds. */
  readonly createdAt: number
  readonly model: string
  readonly conversationId: ConversationId
  readonly instructions: string | null
  readonly maxOutputTokens: number | null
  readonly previousResponseId: ResponseId | null
  readonly store: boolean
  readonly lacksLogprobs?: true
}

/** The response as `response.created` shows it. */
export const startedResponse = (start: ResponseStart): ResponseObject => ({
  id: start.id,
  object: "response",
  created_at: start.createdAt,
  status: "in_progress",
  model: start.model,
  output: [],
  output_text: "",
  conversation_id: start.conversationId,
  conversation: { id: start.conversationId },
  completed_at: null,
  error: null,
  incomplete_details: null,
  instructions: start.instructions,
  max_output_tokens: start.maxOutputTokens,
  max_tool_calls: null,
  previous_response_id: start.previousResponseId,
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: "disabled",
  text: { format: { type: "text" } },
  reasoning: null,
  store: start.store,
  background: false,
  usage: null,
  service_tier: "default",
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
  ...(start.lacksLogprobs === true ? { lacksLogprobs: true } : {})
})
