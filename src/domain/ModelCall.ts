import { Schema } from "effect"

/** A call of a model of any provider, as plain data: one request in, a stream of parts out. */

/** Source: specification, Tools. */
export const toolNames = ["calculator", "current_datetime", "web_fetch", "web_search"] as const
export type ToolName = (typeof toolNames)[number]

const likelihood = {
  token: Schema.String,
  /** The natural logarithm of its probability; -9999 where that is next to none. */
  logprob: Schema.Finite,
  /** The bytes of the token: several tokens may make up one character. */
  bytes: Schema.Array(Schema.Int)
}
const TokenLikelihood = Schema.Struct(likelihood)
export type TokenLikelihood = typeof TokenLikelihood.Type

/** A token of an answer. */
export const TokenLogprob = Schema.Struct({
  ...likelihood,
  /** The likeliest tokens in its place, as many as were asked for. */
  top_logprobs: Schema.Array(TokenLikelihood)
}).annotate({ identifier: "TokenLogprob" })
export type TokenLogprob = typeof TokenLogprob.Type

/** The most that a request may ask for, of the likeliest tokens. */
export const topLogprobsMax = 20

/**
 * An opaque value that only one model of one server can read, such as a signature. It goes back to that model
 * unchanged, and to no other.
 */
export const Opaque = Schema.Struct({
  /** The protocol, the address of the server, and the model. */
  origin: Schema.String,
  /** The protocol's data as JSON; "" if there is nothing but the fact that the model wrote it. */
  data: Schema.String,
  /** The id that its server gave a call. The server's reasoning may name it. */
  callId: Schema.optionalKey(Schema.String)
})
export type Opaque = typeof Opaque.Type

const clientsOrigin = "client "

/**
 * The origin of reasoning that a client sent without proof. It goes only to that model, and only if its
 * server demands reasoning.
 */
export const saidByClient = (model: string): string => clientsOrigin + model

export const isSaidByClient = ({ origin }: Opaque): boolean => origin.startsWith(clientsOrigin)

/** The reasoning of a model. */
export interface Reasoning {
  /** The text that the server shows; "" if none. */
  readonly text: string
  /** null where nothing may go back. */
  readonly opaque: Opaque | null
}

/** A tool call of a model; `arguments` is JSON as text, complete but not validated. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** Absent of a call that no model made, or an unknown one. */
  readonly opaque?: Opaque
  /** The reasoning directly before the call, behind the text and the call before it. */
  readonly reasoning?: ReadonlyArray<Reasoning>
  /**
   * True if the server was offered the tool with a text as input, so that the server enforces the grammar
   * itself.
   */
  readonly isText?: true
}

/** Longest id that a client gives a call of one of its functions. */
export const callIdCharactersMax = 256

export const imageDetails = ["auto", "low", "high"] as const
export type ImageDetail = (typeof imageDetails)[number]

/** An image of a message, as a model gets it. */
export interface ModelImage {
  /** The media type, such as `image/png`. */
  readonly mediaType: string
  /** Base64, without line breaks. */
  readonly data: string
  /** The detail at which a model is to look, where its server has a field for it. */
  readonly detail: ImageDetail
}

export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string; readonly images?: ReadonlyArray<ModelImage> }
  | {
      readonly role: "assistant"
      readonly text: string
      readonly toolCalls: ReadonlyArray<ToolCall>
      /** The reasoning before the text, or before the first call where the model wrote no text. */
      readonly reasoning?: ReadonlyArray<Reasoning>
    }
  | {
      readonly role: "tool"
      readonly callId: string
      readonly name: string
      readonly text: string
      readonly images?: ReadonlyArray<ModelImage>
    }

/** A tool that the model may call; `parameters` is a JSON Schema of its arguments. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
  /** True if the provider is to enforce the schema in its strict mode; only clients' functions ask for it. */
  readonly strict?: boolean
  /** The field of a client's request that has the parameters. Absent of the service's own tools. */
  readonly param?: string
  /**
   * The form of a tool whose input is a text, for a server that knows such tools. For others the text is the
   * argument `input`.
   */
  readonly text?: TextInput
}

/** The input of a tool that takes a text, and no JSON. */
export interface TextInput {
  readonly description: string
  /** null where any text will do. */
  readonly grammar: TextGrammar | null
}

/** A grammar for a text, as a client writes it. */
export interface TextGrammar {
  readonly syntax: "lark" | "regex"
  readonly definition: string
}

/** A passage of a project's files, and the number that an answer cites it by, as in "[1]". */
export interface NumberedPassage {
  readonly number: number
  readonly text: string
}

/** The model's use of tools: as it likes, never, at least one, or the one of this name. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string }

/** The form that an answer must have, other than plain text. */
export type AnswerFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema"
      readonly name: string
      readonly description: string | null
      /** A JSON Schema. */
      readonly schema: Readonly<Record<string, unknown>>
      /** True if the provider is to enforce the schema in its strict mode. */
      readonly strict: boolean
    }

export const reasoningEfforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export type ReasoningEffort = (typeof reasoningEfforts)[number]

/** Options of a model's answer. Absent ones are left to the model's own default. */
export interface AnswerOptions {
  /** 0 to 2. */
  readonly temperature?: number
  /** 0 to 1. */
  readonly topP?: number
  readonly reasoningEffort?: ReasoningEffort
  /** True if the effort is a hint: a model that doesn't take it is asked without. */
  readonly effortIsHint?: true
  readonly verbosity?: "low" | "medium" | "high"
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls?: boolean
  readonly format?: AnswerFormat
  /** Texts before which the answer ends. */
  readonly stop?: ReadonlyArray<string>
  readonly seed?: number
  /** -2 to 2. */
  readonly presencePenalty?: number
  /** -2 to 2. */
  readonly frequencyPenalty?: number
  /**
   * Asks for the logprobs of the text, and for this number of the likeliest tokens, from 0. A hint: a model
   * without logprobs is asked without.
   */
  readonly logprobs?: number
}

export interface ModelRequest {
  readonly messages: ReadonlyArray<ModelMessage>
  /** The most tokens of the answer, at most the model's own maximum. */
  readonly maxOutputTokens: number
  readonly tools: ReadonlyArray<ToolSpec>
  readonly options?: AnswerOptions
  /** True if the last messages may be results of the service's own tools, called in the round before. */
  readonly followsOwnCalls?: boolean
  /**
   * The same text for requests of one user that begin alike, such as those of a conversation. Protocols send
   * its hash.
   */
  readonly cacheScope?: string
  /**
   * The passages that one of the messages quotes, best first, for the demo model. Absent without a search; no
   * protocol sends them.
   */
  readonly passages?: ReadonlyArray<NumberedPassage>
}

export interface CallOptions {
  /**
   * True if another model could answer now. Then the timeouts are shorter, until the first output. False once
   * the client knows the model.
   */
  readonly hasFallback: () => boolean
  /** The key for fair queues: waiting users take turns. */
  readonly user?: string
  /**
   * Called each time that the request is sent, with the request in that form: without hints that the server
   * doesn't take.
   */
  readonly onSent?: (request: Pick<ModelRequest, "options">) => void
}

/** The options of a call without a fallback and without a user. */
export const withoutFallback: CallOptions = { hasFallback: () => false }

/** The tokens of a call, and who counted them. */
export interface ModelUsage {
  readonly inputTokens: number
  /** Input tokens that the provider read from its prompt cache. */
  readonly cachedInputTokens: number
  /** Other input tokens that the provider wrote to its prompt cache. */
  readonly cacheWriteInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly source: "provider" | "tokenizer"
}

export const nothingSpent: ModelUsage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  source: "provider"
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter"

/** `token_limit`: the user's token limit is used up. */
export type EndReason = FinishReason | "token_limit"

/**
 * A stream has any number of parts, then exactly one `finish`. A stream that ends without a finish has
 * failed.
 *
 * `reasoning_text` is a piece of reasoning, and `reasoning` the complete reasoning, before the output it led
 * to. Reasoning behind the first call belongs to the next call.
 */
export type ModelPart =
  | {
      readonly type: "text"
      readonly text: string
      /** True if the text is the model's refusal to answer, as stated by its server. */
      readonly isRefusal?: true
      /** The logprobs of the text, if they were requested and the server has them. */
      readonly logprobs?: ReadonlyArray<TokenLogprob>
    }
  | { readonly type: "reasoning_text"; readonly text: string }
  | { readonly type: "reasoning"; readonly reasoning: Reasoning }
  | CallText
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | ModelFinish

/**
 * A piece of the arguments of a call, which follows whole as a `tool_call` if the model ends it. Pieces of
 * one call stand together: all calls before it have come whole.
 */
export interface CallText {
  readonly type: "call_text"
  /** The position of the call among those of the answer, from 0. */
  readonly position: number
  readonly name: string
  readonly text: string
  /** In the first piece, the `reasoning` of the whole call. */
  readonly reasoning: ReadonlyArray<Reasoning>
  /** The same as in the whole call. */
  readonly isText?: true
}

export interface ModelFinish {
  readonly type: "finish"
  readonly reason: FinishReason
  /** True if the text is the model's refusal to answer, as stated by its server. */
  readonly isRefusal?: boolean
  readonly usage: ModelUsage
}
