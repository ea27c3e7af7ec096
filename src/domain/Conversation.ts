import { Schema, Struct } from "effect"
import { FileAttributes } from "./FileAttributes.ts"
import { FileId, ImageId, ItemId, type ConversationId, ResponseId } from "./Ids.ts"
import { imageDetails, Opaque, TokenLogprob } from "./ModelCall.ts"

/**
 * The items of a conversation, stored in the shape in which they are streamed and returned, with further
 * fields that only the service reads. Source: wire contract, sections 2 and 4.
 */

export const InputText = Schema.Struct({
  type: Schema.Literal("input_text"),
  text: Schema.String
}).annotate({ identifier: "InputText" })
export type InputText = typeof InputText.Type

export const InputFile = Schema.Struct({
  type: Schema.Literal("input_file"),
  file_id: FileId
}).annotate({ identifier: "InputFile", description: "A file uploaded before, by its id." })
export type InputFile = typeof InputFile.Type

/** An image of a message; its bytes are kept beside the conversation, and deleted with it. */
export const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_id: ImageId,
  detail: Schema.Literals(imageDetails)
})
export type InputImage = typeof InputImage.Type

/** The bytes of an image, as base64 without line breaks. */
export interface StoredImage {
  readonly id: ImageId
  /** The media type, such as `image/png`. */
  readonly mediaType: string
  readonly data: string
}

export const FileCitation = Schema.Struct({
  type: Schema.Literal("file_citation"),
  file_id: FileId,
  filename: Schema.String,
  index: Schema.Int
}).annotate({ identifier: "FileCitation" })
export type FileCitation = typeof FileCitation.Type

export const OutputText = Schema.Struct({
  type: Schema.Literal("output_text"),
  text: Schema.String,
  annotations: Schema.Array(FileCitation),
  logprobs: Schema.Array(TokenLogprob),
  /** True if the text is the model's refusal to answer. */
  isRefusal: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "OutputText" })
export type OutputText = typeof OutputText.Type

const ItemStatus = Schema.Literals(["in_progress", "completed", "failed"])
type ItemStatus = typeof ItemStatus.Type

export const OutputMessage = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("message"),
  status: ItemStatus,
  role: Schema.Literal("assistant"),
  content: Schema.Array(OutputText)
}).annotate({ identifier: "OutputMessage" })
export type OutputMessage = typeof OutputMessage.Type

/** Fields of a call that only the service reads. */
const calledBy = {
  /** The id that all calls of one round share. A call without it was the only one. */
  round: Schema.optionalKey(Schema.String),
  opaque: Schema.optionalKey(Opaque)
}
/** The names of these fields. */
export const hiddenOfCalls = ["round", "opaque"] as const satisfies ReadonlyArray<keyof typeof calledBy>

/** A tool call that the service ran. `arguments` is JSON as text. */
export const McpCall = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("mcp_call"),
  status: ItemStatus,
  server_label: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  output: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  approval_request_id: Schema.Null,
  ...calledBy
}).annotate({ identifier: "McpCall" })
export type McpCall = typeof McpCall.Type

/** A call of one of the client's own functions, which the client runs. `arguments` is JSON as text. */
export const FunctionCall = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("function_call"),
  status: ItemStatus,
  /** The id that the client's result refers to; unique in the conversation. */
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  ...calledBy
}).annotate({ identifier: "FunctionCall" })
export type FunctionCall = typeof FunctionCall.Type

/** The result of the client's function. */
export const FunctionCallOutput = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("function_call_output"),
  status: ItemStatus,
  call_id: Schema.String,
  /** The texts of the result. */
  output: Schema.String,
  /** Other parts of the result; only the service reads them. */
  attached: Schema.optionalKey(Schema.Array(Schema.Union([InputFile, InputImage])))
}).annotate({ identifier: "FunctionCallOutput" })
export type FunctionCallOutput = typeof FunctionCallOutput.Type

/** The name of a call if a client replays only its result. */
export const unknownCall = ""

export const FileSearchResult = Schema.Struct({
  file_id: FileId,
  filename: Schema.String,
  score: Schema.Finite,
  text: Schema.String,
  /** The place of the passage. */
  attributes: Schema.Record(Schema.String, Schema.Unknown),
  /** The file's attributes, for a client that notes some. */
  file_attributes: Schema.optionalKey(FileAttributes)
})

/** A search of a project's files. */
export const FileSearchCall = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("file_search_call"),
  status: ItemStatus,
  queries: Schema.Array(Schema.String),
  results: Schema.NullOr(Schema.Array(FileSearchResult))
})
export type FileSearchCall = typeof FileSearchCall.Type

/** The reasoning of a model before the item that follows. */
export const ReasoningItem = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("reasoning"),
  status: ItemStatus,
  /** The text that the server shows; "" if none. */
  text: Schema.String,
  /** The opaque value, which goes back to the model that it came from; null if there is none. */
  opaque: Schema.NullOr(Opaque)
})
export type ReasoningItem = typeof ReasoningItem.Type

/** All kinds of items that an answer may have. */
export const OutputItem = Schema.Union([OutputMessage, McpCall, FileSearchCall, FunctionCall, ReasoningItem])
export type OutputItem = typeof OutputItem.Type

/** A stored message of the user, or an earlier answer that a client replays. */
export const InputMessage = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("message"),
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Array(Schema.Union([InputText, InputFile, InputImage, OutputText]))
})
export type InputMessage = typeof InputMessage.Type

/**
 * The input of a stored turn: messages, replayed calls and searches, and results of the client's functions.
 */
export const InputItem = Schema.Union([
  InputMessage,
  McpCall,
  FileSearchCall,
  FunctionCall,
  FunctionCallOutput,
  ReasoningItem
])
export type InputItem = typeof InputItem.Type

/** An item that a reference may refer to. */
export const StoredItem = Schema.Union([
  OutputMessage,
  InputMessage,
  McpCall,
  FileSearchCall,
  FunctionCall,
  FunctionCallOutput,
  ReasoningItem
])
export type StoredItem = typeof StoredItem.Type

const withoutPassage = ({ attributes, ...result }: typeof FileSearchResult.Type) => ({
  ...Struct.omit(result, ["file_attributes"]),
  text: "",
  attributes: Struct.omit(attributes, ["section"])
})

/**
 * The stored form of an item. The content of search results is left out (passages, headings and file
 * attributes), so that it is deleted together with the files. The positions of passages stay.
 */
export const withoutPassages = (item: StoredItem): StoredItem =>
  item.type === "file_search_call" ? { ...item, results: item.results?.map(withoutPassage) ?? null } : item

/** The stored form of an item of an answer. */
export const outputWithoutPassages = (item: OutputItem): OutputItem =>
  item.type === "file_search_call" ? { ...item, results: item.results?.map(withoutPassage) ?? null } : item

/** An answer without reasoning and without opaque values. */
export const withoutReasoning = (output: ReadonlyArray<OutputItem>): ReadonlyArray<OutputItem> =>
  output.flatMap((item): ReadonlyArray<OutputItem> => {
    if (item.type === "reasoning") return []
    if (item.type === "mcp_call") return [Struct.omit(item, ["opaque"])]
    return [item.type === "function_call" ? Struct.omit(item, ["opaque"]) : item]
  })

/** The input of a turn without reasoning and without opaque values. */
export const inputWithoutReasoning = (input: ReadonlyArray<InputItem>): ReadonlyArray<InputItem> =>
  input.flatMap((item): ReadonlyArray<InputItem> =>
    item.type === "message" || item.type === "function_call_output" ? [item] : withoutReasoning([item])
  )

/** All text of the messages. */
export const outputText = (output: ReadonlyArray<OutputItem>): string => output.map(messageText).join("")

const messageText = (item: OutputItem): string =>
  item.type === "message" ? item.content.map(({ text }) => text).join("") : ""

/** The bound that cut an answer short. */
export const CutReason = Schema.Literals(["max_output_tokens", "content_filter", "token_limit"])
export type CutReason = typeof CutReason.Type

/** The reason why an answer is incomplete: it was cut, or the model ended it without a text. */
export const IncompleteReason = Schema.Literals([...CutReason.literals, "no_text"])
export type IncompleteReason = typeof IncompleteReason.Type

/** True for an answer that ends without a text: its last message is empty. */
const endsWithoutText = (output: ReadonlyArray<OutputItem>): boolean => {
  const last = output.at(-1)
  return last?.type === "message" && last.content.every(({ text }) => text.trim() === "")
}

/** The `incomplete_details` of an answer. An answer without a text is known by its items, and not stored. */
export const incompleteDetails = (
  cut: CutReason | null,
  output: ReadonlyArray<OutputItem>
): { readonly reason: IncompleteReason } | null => {
  if (cut !== null) return { reason: cut }
  return endsWithoutText(output) ? { reason: "no_text" } : null
}

/** The bound that cut the answer; null if the model ended it. */
export const cutOf = (details: { readonly reason: IncompleteReason } | null): CutReason | null =>
  details === null || details.reason === "no_text" ? null : details.reason

/** Facts about a response besides its items, to show it again. */
export const TurnDetails = Schema.Struct({
  /** Milliseconds since the Unix epoch. */
  createdAt: Schema.Int,
  completedAt: Schema.Int,
  usage: Schema.NullOr(
    Schema.Struct({
      inputTokens: Schema.Int,
      cachedInputTokens: Schema.Int,
      /** Absent in turns that earlier versions stored. */
      cacheWriteInputTokens: Schema.optionalKey(Schema.Int),
      outputTokens: Schema.Int,
      reasoningTokens: Schema.Int
    })
  ),
  incompleteReason: Schema.NullOr(CutReason),
  instructions: Schema.NullOr(Schema.String),
  maxOutputTokens: Schema.NullOr(Schema.Int),
  previousResponseId: Schema.NullOr(ResponseId),
  /** Fields of the request that the interface repeats, and that only it reads; null if there are none. */
  echo: Schema.Unknown
})
export type TurnDetails = typeof TurnDetails.Type

export interface StoredTurn {
  /** 0 for the first turn of a conversation. */
  readonly position: number
  readonly responseId: ResponseId
  readonly input: ReadonlyArray<InputItem>
  readonly output: ReadonlyArray<OutputItem>
  /** Estimated tokens of the turn in a prompt, without the texts of its files. */
  readonly promptTokens: number
}

export interface ConversationState {
  readonly conversationId: ConversationId
  /** The number of stored turns, and the position of the new turn. */
  readonly turnCount: number
  readonly systemMessage: string | null
}

/** The lease to add one turn to a conversation, from `open` until its scope closes. */
export interface OpenTurn extends ConversationState {
  /** A number that grows with each holder of the lease. A commit with an older fence is refused. */
  readonly fence: number
}
