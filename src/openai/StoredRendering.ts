import { Option, Schema } from "effect"
import { shownId } from "../api/openai/ProfileIds.ts"
import { Echo, type ResponseResource } from "../api/openai/ResponseResource.ts"
import type { ItemList, StoredItem } from "../api/openai/StoredItem.ts"
import { Tools } from "../api/openai/Tools.ts"
import type { StoredResponse } from "../conversations/StoredResponses.ts"
import type { ItemsPage } from "../conversations/StoredResponses.ts"
import type {
  FunctionCallOutput,
  InputFile,
  InputImage,
  InputItem,
  InputMessage,
  StoredItem as DomainItem
} from "../domain/Conversation.ts"
import { storedResponse } from "../responses/generation/TurnDetails.ts"
import { renderPlainCall } from "./CallRendering.ts"
import { kindsOf, noKinds } from "./ClientTools.ts"
import {
  messagePart,
  renderCall,
  renderReasoning,
  renderResponse,
  textPart,
  type View
} from "./ItemRendering.ts"
import { sealingOnce, type UserSealing } from "./Sealing.ts"

/** Stored responses and items, as clients of the OpenAI interface see them. */

const Shown = Schema.Struct({
  webSearch: Schema.Boolean,
  fileSearch: Schema.Boolean,
  results: Schema.Boolean,
  encrypted: Schema.optionalKey(Schema.Boolean)
})

const decodeView = Schema.decodeUnknownOption(Schema.Struct({ echo: Echo, shown: Shown }))

const decodeTools = Schema.decodeUnknownOption(Tools)

/**
 * The view of a request that another interface read, and of items by themselves: in the types that all
 * clients know.
 */
const plainView: View = {
  seal: null,
  kinds: noKinds,
  echo: {
    background: false,
    frequency_penalty: 0,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    presence_penalty: 0,
    prompt_cache_key: null,
    reasoning: null,
    safety_identifier: null,
    service_tier: "default",
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "auto",
    user: null
  },
  shown: { webSearch: false, fileSearch: false, results: false }
}

/** The view in which a stored response was shown. */
const viewOf = (echo: unknown, sealing: UserSealing): View =>
  Option.match(decodeView(echo), {
    onNone: () => plainView,
    onSome: (view) => ({
      ...view,
      kinds: Option.match(decodeTools(view.echo.tools), { onNone: () => noKinds, onSome: kindsOf }),
      seal: view.shown.encrypted === true ? sealingOnce(sealing) : null
    })
  })

/** A stored response, as it was answered. */
export const renderStored = (stored: StoredResponse, sealing: UserSealing): ResponseResource =>
  renderResponse(storedResponse(stored), viewOf(stored.details?.echo, sealing))

const attachedPart = (part: InputFile | InputImage) =>
  part.type === "input_file"
    ? { ...part, file_id: shownId("file", part.file_id) }
    : // The image itself is not repeated, as where `include` doesn't ask for it.
      { type: part.type, detail: part.detail, image_url: null, file_id: null }

const partOf = (part: InputMessage["content"][number]) => {
  switch (part.type) {
    case "input_text":
      return part
    case "output_text":
      return messagePart(part)
    default:
      return attachedPart(part)
  }
}

/** An earlier answer that a client replayed as text. */
const answerPart = (text: string) => textPart({ type: "output_text", text, annotations: [], logprobs: [] })

type Stored = InputItem | DomainItem

const renderResult = ({ attached = [], output, ...item }: FunctionCallOutput): StoredItem => ({
  ...item,
  id: shownId("functionOutput", item.id),
  output:
    attached.length === 0
      ? output
      : [
          ...(output === "" ? [] : [{ type: "input_text" as const, text: output }]),
          ...attached.map(attachedPart)
        ]
})

export const renderStoredItem = (item: Stored): StoredItem => {
  switch (item.type) {
    case "message":
      return {
        id: shownId("message", item.id),
        type: "message",
        status: "completed",
        role: item.role,
        content: item.content.map((part) =>
          item.role === "assistant" && part.type === "input_text" ? answerPart(part.text) : partOf(part)
        )
      }
    case "function_call_output":
      return renderResult(item)
    case "file_search_call":
      return { ...item, id: shownId("fileSearch", item.id), results: null }
    case "reasoning":
      return renderReasoning(item)
    case "mcp_call":
      return renderCall(item, plainView)
    case "function_call":
      return renderPlainCall(item)
  }
}

export const itemList = ({ hasMore, items }: ItemsPage<Stored>): ItemList => {
  const data = items.map(renderStoredItem)
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore
  }
}
