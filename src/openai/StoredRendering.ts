import { Option, Schema } from "effect"
import { shownId } from "../api/openai/ProfileIds.ts"
import { Echo, type ResponseResource } from "../api/openai/ResponseResource.ts"
import type { ItemList, StoredItem } from "../api/openai/StoredItem.ts"
import type { StoredResponse } from "../conversations/StoredResponses.ts"
import type { ItemsPage } from "../conversations/StoredResponses.ts"
import type { InputItem, InputMessage, OutputItem } from "../domain/Conversation.ts"
import { storedResponse } from "../responses/TurnDetails.ts"
import { renderItem, renderResponse, textPart, type View } from "./ItemRendering.ts"

/** What is stored, as clients of the OpenAI interface see it. */

const Shown = Schema.Struct({
  webSearch: Schema.Boolean,
  fileSearch: Schema.Boolean,
  results: Schema.Boolean
})

const decodeView = Schema.decodeUnknownOption(Schema.Struct({ echo: Echo, shown: Shown }))

/** Of a request that another interface read. */
const otherView: View = {
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

/** How a stored response was shown. */
export const viewOf = (echo: unknown): View => Option.getOrElse(decodeView(echo), () => otherView)

/** A stored response, as it was answered. */
export const renderStored = (stored: StoredResponse): ResponseResource =>
  renderResponse(storedResponse(stored), viewOf(stored.details?.echo))

const partOf = (part: InputMessage["content"][number]) => {
  switch (part.type) {
    case "input_text":
      return part
    case "input_file":
      return { ...part, file_id: shownId("file", part.file_id) }
    case "output_text":
      return textPart(part)
  }
}

/** Everything that was stored is shown, in the types that all clients know. */
const fullView: View = { ...otherView, shown: { webSearch: false, fileSearch: true, results: false } }

export const renderStoredItem = (item: InputItem | OutputItem): ReadonlyArray<StoredItem> => {
  switch (item.type) {
    case "message":
      return [
        {
          id: shownId("message", item.id),
          type: "message",
          status: "completed",
          role: item.role,
          content: item.content.map(partOf)
        }
      ]
    case "function_call_output":
      return [{ ...item, id: shownId("functionOutput", item.id) }]
    default: {
      const shown = renderItem(item, fullView)
      return shown === null ? [] : [shown]
    }
  }
}

export const itemList = ({ hasMore, items }: ItemsPage<InputItem | OutputItem>): ItemList => {
  const data = items.flatMap(renderStoredItem)
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore
  }
}
