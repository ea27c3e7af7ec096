/** A call of a model of any provider, as plain data: one request in, a stream of parts out. */

/** Source: specification, Tools. */
export const toolNames = ["calculator", "current_datetime", "web_fetch", "web_search"] as const
export type ToolName = (typeof toolNames)[number]

/** A tool call of a model; `arguments` is JSON as text, complete but not validated. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly toolCalls: ReadonlyArray<ToolCall> }
  | { readonly role: "tool"; readonly callId: string; readonly name: string; readonly text: string }

/** A tool that the model may call; `parameters` is a JSON Schema of its arguments. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** A passage of a project's files, and the number that an answer cites it by, as in "[1]". */
export interface NumberedPassage {
  readonly number: number
  readonly text: string
}

export interface ModelRequest {
  readonly messages: ReadonlyArray<ModelMessage>
  /** At most the model's own maximum. */
  readonly maxOutputTokens: number
  readonly tools: ReadonlyArray<ToolSpec>
  /** The passages that one of the messages quotes, best first, for the demo model. Absent without a search; no protocol sends them. */
  readonly passages?: ReadonlyArray<NumberedPassage>
}

export interface CallOptions {
  /**
   * Whether another model could answer now. Then the timeouts are shorter, until the first output. False once the client knows the
   * model.
   */
  readonly hasFallback: () => boolean
  /** The key for fair queues: waiting users take turns. */
  readonly user?: string
}

/** Without a fallback and without a user. */
export const alone: CallOptions = { hasFallback: () => false }

/** The tokens of a call, and who counted them. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly source: "provider" | "tokenizer"
}

export const nothingSpent: ModelUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  source: "provider"
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter"

/** `token_limit`: the user's token limit is used up. */
export type EndReason = FinishReason | "token_limit"

/** A stream has any number of `text` and `tool_call` parts, then exactly one `finish`; one that ends without it has failed. */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | ModelFinish

export interface ModelFinish {
  readonly type: "finish"
  readonly reason: FinishReason
  readonly usage: ModelUsage
}
