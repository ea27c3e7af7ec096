import { type IdKind, shownId } from "../api/openai/ProfileIds.ts"
import type { Echo, Item, MessagePart, ResponseResource, TextPart } from "../api/openai/ResponseResource.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { shownText } from "../api/ShownItem.ts"
import {
  cutOf,
  type FileSearchCall,
  type McpCall,
  type OutputItem,
  type OutputText
} from "../domain/Conversation.ts"
import { callIdKind, renderFunctionCall } from "./CallRendering.ts"
import type { CallKinds } from "./ClientTools.ts"
import { isWebSearchCall, type Seal, type SealedReasoning, sealedOutput } from "./SealedItems.ts"

/**
 * Items and responses as clients of the OpenAI interface see them. The service's own tools and its search of
 * files are shown only in types of items that clients of the last three major versions accept.
 */

/** Which of the service's own items the client has asked to see as what they are. */
export interface Shown {
  readonly webSearch: boolean
  readonly fileSearch: boolean
  /** True if the passages that a search found are shown too. */
  readonly results: boolean
  /**
   * True if thoughts are sealed, for a client that gives them back; responses of earlier versions lack the
   * field.
   */
  readonly encrypted?: boolean
}

/** The parts of a request on which its response depends. */
export interface View {
  readonly echo: Echo
  readonly shown: Shown
  /** The kinds of tools that calls of the client's tools stand for. */
  readonly kinds: CallKinds
  /** null where the client didn't ask for what is encrypted. */
  readonly seal: Seal | null
}

const millisPerSecond = 1_000
/** The characters of a tool's result in the words that say what was done. */
const resultCharactersMax = 500

const seconds = (millis: number): number => Math.floor(millis / millisPerSecond)

const citation = (one: OutputText["annotations"][number]): TextPart["annotations"][number] => ({
  ...one,
  file_id: shownId("file", one.file_id)
})

export const textPart = (part: OutputText): TextPart => ({
  ...shownText(part),
  logprobs: part.logprobs,
  annotations: part.annotations.map(citation)
})

export const messagePart = (part: OutputText): MessagePart =>
  part.isRefusal === true ? { type: "refusal", refusal: part.text } : textPart(part)

/** A field of a call's arguments; "" if the model wrote none. */
const argumentOf = (call: McpCall, name: string): string => {
  try {
    // oxlint-disable-next-line no-restricted-properties -- what a model wrote, of which one text is read
    const value: unknown = JSON.parse(call.arguments)
    const field: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
    return typeof field === "string" ? field : ""
  } catch {
    return ""
  }
}

const cut = (text: string): string =>
  text.length <= resultCharactersMax ? text : `${text.slice(0, resultCharactersMax).toWellFormed()}…`

/** Says what was done, in words. */
const summaryOf = ({ arguments: args, error, name, output }: McpCall): string =>
  `${name}(${cut(args)}) → ${cut(output ?? `Error: ${error ?? "unknown"}`)}`

/** The attributes of the file, and beside them where the passage stands. */
const searchResult = ({
  attributes,
  file_attributes,
  ...found
}: NonNullable<FileSearchCall["results"]>[number]) => ({
  ...found,
  file_id: shownId("file", found.file_id),
  attributes: { ...attributes, ...file_attributes }
})

const kindOf = (item: OutputItem, { kinds, shown }: Pick<View, "kinds" | "shown">): IdKind => {
  switch (item.type) {
    case "message":
      return "message"
    case "function_call":
      return callIdKind(item.name, kinds)
    case "file_search_call":
      return "fileSearch"
    case "mcp_call":
      return isWebSearchCall(item, shown) ? "webSearch" : "reasoning"
    case "reasoning":
      return "reasoning"
  }
}

export const renderCall = (call: McpCall, view: View): Item => {
  const id = shownId(kindOf(call, view), call.id)
  // A tool that fails is data for the model, and no failure of the response.
  const status = call.status === "in_progress" ? "in_progress" : "completed"
  if (!isWebSearchCall(call, view.shown)) {
    if (call.status === "in_progress") return { id, type: "reasoning", status, summary: [] }
    const sealed = view.seal === null ? {} : { encrypted_content: view.seal(call.id, { ran: call }) }
    return {
      id,
      type: "reasoning",
      status,
      summary: [{ type: "summary_text", text: summaryOf(call) }],
      ...sealed
    }
  }
  const action =
    call.name === "web_search"
      ? ({ type: "search", query: argumentOf(call, "query") } as const)
      : ({ type: "open_page", url: argumentOf(call, "url") } as const)
  return { id, type: "web_search_call", status: call.status === "failed" ? "failed" : status, action }
}

/** Renders what the model thought, as far as its server shows it. */
export const renderReasoning = ({ id, sealed, status, text }: SealedReasoning): Item => ({
  id: shownId("reasoning", id),
  type: "reasoning",
  status: status === "in_progress" ? status : "completed",
  summary: text === "" ? [] : [{ type: "summary_text", text }],
  ...(sealed === undefined ? {} : { encrypted_content: sealed })
})

/** An item as the client sees it; null for one that it didn't ask to see. */
export const renderItem = (item: OutputItem, view: View): Item | null => {
  const id = shownId(kindOf(item, view), item.id)
  switch (item.type) {
    case "message":
      return { ...item, id, content: item.content.map(messagePart) }
    case "function_call":
      return renderFunctionCall(item, view.kinds)
    case "mcp_call":
      return renderCall(item, view)
    case "reasoning":
      return renderReasoning(item)
    case "file_search_call":
      return view.shown.fileSearch
        ? {
            ...item,
            id,
            results: view.shown.results ? (item.results?.map(searchResult) ?? null) : null
          }
        : null
  }
}

const reasonOf = (details: ResponseObject["incomplete_details"]): ResponseResource["incomplete_details"] =>
  details === null || details.reason === "token_limit"
    ? details && { reason: "max_output_tokens" }
    : { reason: details.reason }

/** The last message of an answer that was cut is incomplete too. */
const withCut = (output: ReadonlyArray<Item>, isCut: boolean): ReadonlyArray<Item> =>
  isCut
    ? output.map((item, index) =>
        index === output.length - 1 && item.type === "message" ? { ...item, status: "incomplete" } : item
      )
    : output

/** All text of the messages, without refusals. */
const textOf = (output: ReadonlyArray<Item>): string =>
  output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("")

/** A whole response. */
export const renderResponse = (response: ResponseObject, view: View): ResponseResource => {
  const isCut = cutOf(response.incomplete_details) !== null
  const output = sealedOutput(response.output, view).flatMap((item) => renderItem(item, view) ?? [])
  return {
    ...view.echo,
    id: shownId("response", response.id),
    object: "response",
    created_at: seconds(response.created_at),
    completed_at: response.completed_at === null ? null : seconds(response.completed_at),
    status: isCut ? "incomplete" : response.status,
    error: null,
    incomplete_details: reasonOf(response.incomplete_details),
    model: response.model,
    output: withCut(output, isCut),
    output_text: textOf(output),
    conversation: response.store ? { id: shownId("conversation", response.conversation_id) } : null,
    instructions: response.instructions,
    max_output_tokens: response.max_output_tokens,
    previous_response_id:
      response.previous_response_id === null ? null : shownId("response", response.previous_response_id),
    store: response.store,
    usage: response.usage
  }
}
