import { Schema } from "effect"
import { FileId } from "../../domain/Ids.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { CallId } from "../openai/CallItems.ts"
import { JsonObject, Label, maybe } from "../openai/Fields.ts"
import { givenId } from "../openai/ProfileIds.ts"
import { inSteps } from "../ReadInSteps.ts"

/** The blocks of messages that clients of Anthropic send. */

const blocksMax = 10_000
const mediaTypeCharactersMax = 255

/** A list of blocks of one message, or of one result. */
export const blocks = <S extends Schema.Top>(block: S) =>
  Schema.Array(inSteps(block)).check(
    Schema.isMaxLength(blocksMax, { expected: `a list of at most ${blocksMax} blocks` })
  )

export const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: StorableText })

const MediaType = Schema.String.check(
  Schema.isMaxLength(mediaTypeCharactersMax, { expected: `at most ${mediaTypeCharactersMax} characters` })
)

const Base64Source = Schema.Struct({
  type: Schema.Literal("base64"),
  media_type: MediaType,
  data: Schema.String
})

const UrlSource = Schema.Struct({ type: Schema.Literal("url"), url: Schema.String })

const FileSource = Schema.Struct({ type: Schema.Literal("file"), file_id: givenId(FileId, "file") })

export const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Union([Base64Source, UrlSource, FileSource]).annotate({
    expected: "a source of the type base64, url or file"
  })
})
export type ImageBlock = typeof ImageBlock.Type

const TextSource = Schema.Struct({
  type: Schema.Literal("text"),
  media_type: maybe(MediaType),
  data: StorableText
})

const ContentSource = Schema.Struct({
  type: Schema.Literal("content"),
  content: Schema.Union([
    StorableText,
    blocks(Schema.Union([TextBlock, ImageBlock]).annotate({ expected: "a text or image block" }))
  ]).annotate({ expected: "a string or a list of blocks" })
})

export const DocumentBlock = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Union([Base64Source, TextSource, ContentSource, UrlSource, FileSource]).annotate({
    expected: "a source of the type base64, text, content, url or file"
  }),
  title: maybe(Label),
  context: maybe(StorableText),
  citations: maybe(Schema.Struct({ enabled: maybe(Schema.Boolean) }))
})
export type DocumentBlock = typeof DocumentBlock.Type

export const SearchResultBlock = Schema.Struct({
  type: Schema.Literal("search_result"),
  source: StorableText,
  title: StorableText,
  content: blocks(TextBlock)
})
export type SearchResultBlock = typeof SearchResultBlock.Type

const known = [
  "text",
  "image",
  "document",
  "search_result",
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "tool_reference"
]

/** A block of which nothing is made, such as a call of a tool that ran at Anthropic. */
const OtherBlock = Schema.Struct({
  type: Schema.String.check(
    Schema.makeFilter((type) => !known.includes(type), { expected: "the type of a block of such a message" })
  )
})

export const isOtherBlock = ({ type }: { readonly type: string }): boolean => !known.includes(type)

/** A tool that a search of tools has found. All tools of a request are offered in any case. */
const ToolReferenceBlock = Schema.Struct({ type: Schema.Literal("tool_reference"), tool_name: StorableText })

/** A block by which a message, or the result of a tool, tells the model something. */
export type SaidBlock =
  | typeof TextBlock.Type
  | ImageBlock
  | DocumentBlock
  | SearchResultBlock
  | typeof ToolReferenceBlock.Type

const saidBlocks = [TextBlock, ImageBlock, DocumentBlock, SearchResultBlock] as const

const ToolResultBlock = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: CallId,
  content: maybe(
    Schema.Union([
      StorableText,
      blocks(
        Schema.Union([...saidBlocks, ToolReferenceBlock, OtherBlock]).annotate({
          expected: "a text, image, document or search_result block"
        })
      )
    ]).annotate({ expected: "a string, a list of blocks or null" })
  ),
  is_error: maybe(Schema.Boolean)
})
export type ToolResultBlock = typeof ToolResultBlock.Type

export const UserBlock = Schema.Union([...saidBlocks, ToolResultBlock]).annotate({
  expected: "a text, image, document, search_result or tool_result block"
})

const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: CallId,
  name: StorableText.check(Schema.isMinLength(1, { expected: "a string that is not empty" })),
  input: JsonObject
})

/** A client gives back what it got, of this service or of another one. */
export const AssistantBlock = Schema.Union([
  TextBlock,
  ToolUseBlock,
  Schema.Struct({
    type: Schema.Literal("thinking"),
    thinking: Schema.String,
    signature: maybe(Schema.String)
  }),
  Schema.Struct({ type: Schema.Literal("redacted_thinking"), data: Schema.String }),
  OtherBlock
]).annotate({ expected: "a text, tool_use, thinking or redacted_thinking block" })
export type AssistantBlock = typeof AssistantBlock.Type

/** A message of the system may also say which tools come and go. */
export const SystemBlock = Schema.Union([TextBlock, OtherBlock]).annotate({ expected: "a text block" })
