/**
 * What passes between the service and a model, whichever provider it is: one request in, a stream of parts out.
 * Plain data, so that an adapter costs nothing beyond reading its wire format.
 */

/** Source: specification, Tools. */
export const toolNames = ["calculator", "current_datetime", "web_fetch", "web_search"] as const
export type ToolName = (typeof toolNames)[number]

/** A tool call as the model asked for it; `arguments` is JSON as text, whole but not yet checked. */
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
  /** Tokens that the answer may have; never more than the model's own maximum. */
  readonly maxOutputTokens: number
  readonly tools: ReadonlyArray<ToolSpec>
  /**
   * The passages that one of the messages shows, best first, for a model that is part of this process. No protocol sends
   * them; left out where no project was searched.
   */
  readonly passages?: ReadonlyArray<NumberedPassage>
}

/** What a call may count on besides itself. */
export interface CallOptions {
  /**
   * Whether another model could take over at this moment: this one is given up sooner then, as long as it has put nothing
   * out. Nothing may take over any more once the client has been told who answers.
   */
  readonly hasFallback: () => boolean
  /** For whom: where requests must wait for their turn, users take turns. */
  readonly user?: string
}

/** Nobody else can answer, and nobody in particular waits. */
export const alone: CallOptions = { hasFallback: () => false }

/** Tokens that a call cost, and whose count it is. */
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

/** Why an answer ends: as its model says, or because nothing is left of a token limit. */
export type EndReason = FinishReason | "token_limit"

/**
 * What a model's stream is made of. A whole stream is any number of `text` and `tool_call` parts, then exactly one
 * `finish`; a stream that ends without it has failed.
 */
export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | ModelFinish

export interface ModelFinish {
  readonly type: "finish"
  readonly reason: FinishReason
  readonly usage: ModelUsage
}
