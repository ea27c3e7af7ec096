import { Predicate } from "effect"
import type {
  AssistantBlock,
  DocumentBlock,
  ImageBlock,
  SearchResultBlock,
  SaidBlock,
  ToolResultBlock
} from "../api/anthropic/ContentBlocks.ts"
import type { Message } from "../api/anthropic/MessagesBody.ts"
import type { UserSealing } from "../openai/Sealing.ts"
import type { RequestEntry, RequestPart } from "../responses/prompt/ResponseRequest.ts"

/** From the blocks of messages to the entries of an input. */

/** An entry, where it comes from, and where each of its parts does. */
export interface Placed {
  readonly entry: RequestEntry
  readonly path: string
  readonly parts: ReadonlyArray<string>
}

const textPart = (text: string): RequestPart => ({ type: "input_text", text })

const imagePart = ({ source }: ImageBlock): RequestPart => ({
  type: "input_image",
  url:
    source.type === "base64"
      ? `data:${source.media_type};base64,${source.data}`
      : source.type === "url"
        ? source.url
        : null,
  fileId: source.type === "file" ? source.file_id : null,
  detail: "auto"
})

const documentParts = ({ context, source, title }: DocumentBlock): ReadonlyArray<RequestPart> => {
  const document = { type: "input_document", filename: title ?? null, data: null, url: null } as const
  const before = context == null ? [] : [textPart(context)]
  switch (source.type) {
    case "base64":
      return [...before, { ...document, data: source.data }]
    case "text":
      return [...before, { ...document, text: source.data }]
    case "url":
      return [...before, { ...document, url: source.url }]
    case "file":
      return [...before, { type: "input_file", file_id: source.file_id }]
    case "content": {
      const { content } = source
      if (typeof content === "string") return [...before, { ...document, text: content }]
      const named = title == null ? [] : [textPart(`[Document: ${title}]`)]
      return [
        ...before,
        ...named,
        ...content.map((block) => (block.type === "text" ? textPart(block.text) : imagePart(block)))
      ]
    }
  }
}

const searchResultText = ({ content, source, title }: SearchResultBlock): string =>
  [`[Search result: ${title}, ${source}]`, ...content.map(({ text }) => text)].join("\n")

const partsOf = (block: SaidBlock): ReadonlyArray<RequestPart> => {
  switch (block.type) {
    case "text":
      return [textPart(block.text)]
    case "image":
      return [imagePart(block)]
    case "document":
      return documentParts(block)
    case "search_result":
      return [textPart(searchResultText(block))]
    case "tool_reference":
      return [textPart(`[Tool: ${block.tool_name}]`)]
  }
}

type ResultBlock = Exclude<NonNullable<ToolResultBlock["content"]>, string>[number]

/** `OtherBlock` may have any other type. */
const isSaid = (block: ResultBlock): block is SaidBlock =>
  block.type === "text" ||
  block.type === "image" ||
  block.type === "document" ||
  block.type === "search_result" ||
  block.type === "tool_reference"

interface PlacedPart {
  readonly part: RequestPart
  readonly path: string
}

const placedParts = (blocks: ReadonlyArray<ResultBlock>, path: string): ReadonlyArray<PlacedPart> =>
  blocks.flatMap((block, index) =>
    isSaid(block) ? partsOf(block).map((part) => ({ part, path: `${path}.content[${index}]` })) : []
  )

const isText = (part: RequestPart): part is Extract<RequestPart, { readonly text: string }> => "text" in part

/**
 * The result of a tool as text, and as parts where it is more than that. A failure is said in front of it.
 */
const resultEntry = (block: ToolResultBlock, path: string): Placed => {
  const { content, is_error: isError, tool_use_id: id } = block
  const failed = isError === true ? "Error: " : ""
  const entry = { type: "function_call_output", call_id: id } as const
  if (content == null || typeof content === "string")
    return { entry: { ...entry, output: failed + (content ?? "") }, path, parts: [] }
  const placed = placedParts(content, path)
  const parts = placed.map(({ part }) => part)
  if (parts.every(isText)) {
    return { entry: { ...entry, output: failed + parts.map(({ text }) => text).join("\n") }, path, parts: [] }
  }
  const output = failed === "" ? parts : [textPart(failed.trimEnd()), ...parts]
  const paths = placed.map((part) => part.path)
  return { entry: { ...entry, parts: output }, path, parts: failed === "" ? paths : [path, ...paths] }
}

type UserBlock = Exclude<Extract<Message, { readonly role: "user" }>["content"], string>[number]

/** Results stand for themselves; what is between them is a message. */
const userEntries = (blocks: ReadonlyArray<UserBlock>, path: string): ReadonlyArray<Placed> => {
  const entries: Array<Placed> = []
  let said: Array<PlacedPart> = []
  const release = () => {
    if (said.length === 0) return
    const content = said.map(({ part }) => part)
    entries.push({
      entry: { type: "message", role: "user", content },
      path,
      parts: said.map((part) => part.path)
    })
    said = []
  }
  for (const [index, block] of blocks.entries()) {
    const place = `${path}.content[${index}]`
    if (block.type === "tool_result") {
      release()
      entries.push(resultEntry(block, place))
    } else said.push(...partsOf(block).map((part) => ({ part, path: place })))
  }
  release()
  return entries
}

/**
 * The entry of one block of an answer; null where nothing is made of it. Thinking that can't be read is left
 * out.
 */
const answerEntry = (block: AssistantBlock, { open }: UserSealing): RequestEntry | null => {
  if (block.type === "text" && "text" in block) {
    const content = [{ type: "output_text" as const, text: block.text }]
    return block.text === "" ? null : { type: "message", role: "assistant", content }
  }
  if (block.type === "tool_use" && "input" in block) {
    const { id, input, name } = block
    return { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) }
  }
  const sealed = "signature" in block ? block.signature : "data" in block ? block.data : null
  const recalled = sealed == null ? null : open(sealed)
  return recalled === null ? null : { type: "reasoning", recalled }
}

/** The entries of one message. */
export const entriesOf = (message: Message, path: string, sealing: UserSealing): ReadonlyArray<Placed> => {
  const { content, role } = message
  if (typeof content === "string")
    return content === "" && role !== "user"
      ? []
      : [{ entry: { type: "message", role, content }, path, parts: [] }]
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? [] : userEntries(message.content, path)
    case "assistant":
      return typeof message.content === "string"
        ? []
        : message.content.flatMap((block, index) => {
            const entry = answerEntry(block, sealing)
            const place = `${path}.content[${index}]`
            return entry === null ? [] : [{ entry, path: place, parts: [place] }]
          })
    case "system": {
      const text = textOf(message.content)
      return text === ""
        ? []
        : [{ entry: { type: "message", role: "system", content: text }, path, parts: [] }]
    }
  }
}

/** The text of blocks, each as a paragraph. */
export const textOf = (content: string | ReadonlyArray<object>): string =>
  typeof content === "string"
    ? content
    : content
        .flatMap((block) =>
          Predicate.hasProperty(block, "text") && Predicate.isString(block.text) ? [block.text] : []
        )
        .join("\n\n")
