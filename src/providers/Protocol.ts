import { Predicate } from "effect"
import type {
  AnswerOptions,
  FinishReason,
  ModelRequest,
  ModelUsage,
  TokenLogprob,
  ToolSpec
} from "../domain/ModelCall.ts"
import type { Adapt, Dialect } from "./Dialect.ts"
import { errorInList, type ServerError } from "./ServerError.ts"

/** The wire format of a kind of model server: everything that differs between them. */
export interface Protocol {
  /** The name of the protocol in catalog files. */
  readonly name: string
  /** The path below the base URL. */
  readonly path: string
  /**
   * The headers beside the content type. The key is null for a server without keys, and some hosts take it in
   * another header.
   */
  readonly headers: (key: string | null, baseUrl: URL) => Readonly<Record<string, string>>
  /** The headers that depend on the request, besides; absent if none does. */
  readonly headersOf?: (
    model: string,
    request: ModelRequest,
    dialect: Dialect
  ) => Readonly<Record<string, string>>
  /** The request body, as JSON. */
  readonly encode: (model: string, request: ModelRequest, dialect: Dialect) => string
  readonly adapt: Adapt
  /** The name of the first option that the format has no field for; null if it has a field for each. */
  readonly lacks: (options: AnswerOptions) => string | null
  /**
   * Makes the decoder of one answer, because the meaning of an event may depend on earlier ones.
   * `beginsThinking`: the prompt has the opening tag of the reasoning, so that only the closing one comes.
   * `logprobs`: as the request asks for them.
   */
  readonly makeDecode: (beginsThinking?: boolean, logprobs?: AnswerOptions["logprobs"]) => Decode
}

/**
 * Adds the tools to the JSON of a request. The JSON of tools is cached: it is most of a short request, and
 * nearly all requests offer the same ones.
 */
export const makeWithTools = (encodeTool: (tool: ToolSpec) => object) => {
  const encoded = new WeakMap<ReadonlyArray<ToolSpec>, string>()
  return (json: string, tools: ReadonlyArray<ToolSpec>): string => {
    let list = encoded.get(tools)
    if (list === undefined) {
      list = JSON.stringify(tools.map(encodeTool))
      encoded.set(tools, list)
    }
    return `${json.slice(0, -1)},"tools":${list}}`
  }
}

/** A piece of a tool call in a delta. */
export interface CallFragment {
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** The opaque fields of the call for its server, as JSON. */
  readonly data?: string
  /** True if the call uses a tool that was offered as one whose input is a text. */
  readonly isText?: true
}

/** Reasoning that is complete. */
export interface ThoughtBlock {
  /** All of its text; null for the pieces since the block before it. */
  readonly text: string | null
  /** The opaque value that goes back, as JSON that only the protocol reads; null if there is none. */
  readonly data: string | null
}

/** A part of an answer, or a whole one; every field may be empty. */
interface AnswerDelta {
  readonly type: "delta"
  readonly text: string
  /** True if the model produced anything, including reasoning. */
  readonly progress: boolean
  readonly fragments: ReadonlyArray<CallFragment>
  readonly finish: FinishReason | null
  readonly usage: ModelUsage | null
  /** The logprobs of the text. */
  readonly logprobs?: ReadonlyArray<TokenLogprob>
  /** Text by which the model refuses to answer, behind the other text. */
  readonly refusal?: string
  /** A piece of the reasoning. */
  readonly thought?: string
  /** Reasoning that ended before the text and the calls of this part. */
  readonly blocks?: ReadonlyArray<ThoughtBlock>
}

/**
 * The content of one event of a stream, or of one whole answer, in every protocol. A valid event of an
 * unknown kind, such as a ping, is `unknown`. An event that contradicts the format is `malformed`.
 */
export type AnswerChunk =
  | AnswerDelta
  /** The items of a whole answer, as the chunks that a stream would have. */
  | { readonly type: "chunks"; readonly chunks: ReadonlyArray<AnswerChunk> }
  | { readonly type: "usage"; readonly usage: ModelUsage | null }
  | { readonly type: "done" | "unknown" }
  | ServerError
  | { readonly type: "malformed"; readonly detail: string }

/** Decodes the events of one answer, in their order. */
export type Decode = (data: string) => AnswerChunk

export type Fields = Readonly<Record<PropertyKey, unknown>>

export const unknown: AnswerChunk = { type: "unknown" }
export const done: AnswerChunk = { type: "done" }
export const malformed = (detail: string): AnswerChunk => ({ type: "malformed", detail })
export const noFragments: ReadonlyArray<CallFragment> = []

/** The model is at work without output for the client. */
export const thinking: AnswerDelta = {
  type: "delta",
  text: "",
  progress: true,
  fragments: noFragments,
  finish: null,
  usage: null
}

/** A piece of the reasoning. */
export const thoughtDelta = (thought: unknown): AnswerChunk =>
  typeof thought === "string" ? { ...thinking, thought } : malformed("a piece of reasoning is no text")

/** Reasoning that is complete. */
export const thoughtBlock = (block: ThoughtBlock): AnswerChunk => ({ ...thinking, blocks: [block] })

/** Every token passes here, and a copy of `thinking` would cost as much as parsing an event. */
export const decodeTextDelta = (text: unknown): AnswerChunk =>
  typeof text === "string"
    ? { type: "delta", text, progress: text !== "", fragments: noFragments, finish: null, usage: null }
    : malformed("a piece of text is no text")

/** Text by which the model refuses to answer. */
export const decodeRefusalDelta = (refusal: unknown): AnswerChunk =>
  typeof refusal === "string" ? { ...thinking, refusal } : malformed("a piece of a refusal is no text")

export const callDelta = (fragment: CallFragment): AnswerChunk => ({ ...thinking, fragments: [fragment] })

/**
 * Undefined if the text is no JSON. Every token passes here: a Schema would cost several times the rest of
 * the delivery.
 */
export const parseJson = (text: string): unknown => {
  try {
    // oxlint-disable-next-line no-restricted-properties -- every token passes here; a Schema costs several times the rest
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The fields of one event. The decoders check the few that matter by hand. */
export const parseEvent = (data: string): Fields | Extract<AnswerChunk, { readonly type: "malformed" }> => {
  const json = parseJson(data)
  if (json === undefined) return notJson
  return Predicate.isObject(json) ? json : (errorInList(json) ?? noObject)
}

const notJson = { type: "malformed", detail: "an event that is not JSON" } as const
const noObject = { type: "malformed", detail: "an event that is no object" } as const

/** True if `parseEvent` failed. */
export const isUnreadable = (
  event: ReturnType<typeof parseEvent>
): event is Extract<AnswerChunk, { readonly type: "malformed" }> => event === notJson || event === noObject
