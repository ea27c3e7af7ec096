import { Schema } from "effect"
import { MessagesError } from "./MessagesError.ts"

/** An answer of `POST /anthropic/v1/messages`, as one document or as the events of a stream. */

const TextBlock = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  citations: Schema.Null
})

const ThinkingBlock = Schema.Struct({
  type: Schema.Literal("thinking"),
  /** The part of the thoughts that the model's server shows. */
  thinking: Schema.String,
  /** A text that only this service can read; "" if nothing goes back. */
  signature: Schema.String
})

/** A thought of a model without a word that may be shown. */
const RedactedThinkingBlock = Schema.Struct({
  type: Schema.Literal("redacted_thinking"),
  data: Schema.String
})

const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Record(Schema.String, Schema.Unknown),
  caller: Schema.Struct({ type: Schema.Literal("direct") })
})

export const ContentBlock = Schema.Union([TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock])
export type ContentBlock = typeof ContentBlock.Type

const StopReason = Schema.Literals(["end_turn", "max_tokens", "tool_use", "refusal"])
export type StopReason = typeof StopReason.Type

/** All input is the sum of the first three. */
const MessageUsage = Schema.Struct({
  /** Without what was read from, or written to, the provider's prompt cache. */
  input_tokens: Schema.Int,
  cache_creation_input_tokens: Schema.Int,
  cache_read_input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  output_tokens_details: Schema.Struct({ thinking_tokens: Schema.Int })
}).annotate({ identifier: "MessageUsage" })
export type MessageUsage = typeof MessageUsage.Type

export const Message = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("message"),
  role: Schema.Literal("assistant"),
  /** The model that answers, never `auto`. */
  model: Schema.String,
  content: Schema.Array(ContentBlock),
  /** Null only at the beginning of a stream. */
  stop_reason: Schema.NullOr(StopReason),
  stop_sequence: Schema.Null,
  usage: MessageUsage
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

export const BlockDelta = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text_delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking_delta"), thinking: Schema.String }),
  Schema.Struct({ type: Schema.Literal("signature_delta"), signature: Schema.String }),
  Schema.Struct({ type: Schema.Literal("input_json_delta"), partial_json: Schema.String })
])
export type BlockDelta = typeof BlockDelta.Type

export const MessageEvent = Schema.Union([
  Schema.Struct({ type: Schema.Literal("message_start"), message: Message }),
  Schema.Struct({
    type: Schema.Literal("content_block_start"),
    index: Schema.Int,
    content_block: ContentBlock
  }),
  Schema.Struct({ type: Schema.Literal("content_block_delta"), index: Schema.Int, delta: BlockDelta }),
  Schema.Struct({ type: Schema.Literal("content_block_stop"), index: Schema.Int }),
  Schema.Struct({
    type: Schema.Literal("message_delta"),
    delta: Schema.Struct({ stop_reason: StopReason, stop_sequence: Schema.Null }),
    /** The usage of the whole message. */
    usage: MessageUsage
  }),
  Schema.Struct({ type: Schema.Literal("message_stop") }),
  Schema.Struct({ type: Schema.Literal("ping") }),
  MessagesError
]).annotate({ identifier: "MessageEvent" })
export type MessageEvent = typeof MessageEvent.Type
