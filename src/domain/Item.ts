import { Schema } from "effect"
import { FileId, ItemId } from "./Ids.ts"

/**
 * The items of a conversation, in the one shape in which they are streamed, returned and stored.
 * Source: wire contract, sections 2 and 4.
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
  logprobs: Schema.Array(Schema.Unknown)
}).annotate({ identifier: "OutputText" })
export type OutputText = typeof OutputText.Type

export const ItemStatus = Schema.Literals(["in_progress", "completed", "failed"])
export type ItemStatus = typeof ItemStatus.Type

/** A message that the model wrote. */
export const OutputMessage = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("message"),
  status: ItemStatus,
  role: Schema.Literal("assistant"),
  content: Schema.Array(OutputText)
}).annotate({ identifier: "OutputMessage" })
export type OutputMessage = typeof OutputMessage.Type

/** One tool call that the service ran by itself. `arguments` is JSON as text. */
export const McpCall = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("mcp_call"),
  status: ItemStatus,
  server_label: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  output: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  approval_request_id: Schema.Null
}).annotate({ identifier: "McpCall" })
export type McpCall = typeof McpCall.Type

/** The name of a call of which a client replays nothing but the result. */
export const unknownCall = ""

export const FileSearchResult = Schema.Struct({
  file_id: FileId,
  filename: Schema.String,
  score: Schema.Finite,
  text: Schema.String,
  attributes: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "FileSearchResult" })

/** One search of a project's files. */
export const FileSearchCall = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("file_search_call"),
  status: ItemStatus,
  queries: Schema.Array(Schema.String),
  results: Schema.NullOr(Schema.Array(FileSearchResult))
}).annotate({ identifier: "FileSearchCall" })
export type FileSearchCall = typeof FileSearchCall.Type

export const OutputItem = Schema.Union([OutputMessage, McpCall, FileSearchCall]).annotate({
  identifier: "OutputItem"
})
export type OutputItem = typeof OutputItem.Type

/** A message of the user, or an earlier answer that a client replays, as it is stored. */
export const InputMessage = Schema.Struct({
  id: ItemId,
  type: Schema.Literal("message"),
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Array(Schema.Union([InputText, InputFile, OutputText]))
})
export type InputMessage = typeof InputMessage.Type

/** Whatever a stored turn may hold on its input side: messages, and replayed tool and search calls. */
export const InputItem = Schema.Union([InputMessage, McpCall, FileSearchCall])
export type InputItem = typeof InputItem.Type

/** Every stored item, input or output, as an item reference may name it. */
export const StoredItem = Schema.Union([OutputMessage, InputMessage, McpCall, FileSearchCall])
export type StoredItem = typeof StoredItem.Type

/** An item as it is stored: of a search, which files it found. Their passages are read anew, and end with their files. */
export const withoutPassages = (item: StoredItem): StoredItem =>
  item.type === "file_search_call" && item.results !== null
    ? { ...item, results: item.results.map((result) => ({ ...result, text: "" })) }
    : item
