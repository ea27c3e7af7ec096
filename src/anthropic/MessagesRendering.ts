import { Option, Schema } from "effect"
import type {
  BlockDelta,
  ContentBlock,
  Message,
  MessageEvent,
  MessageUsage,
  StopReason
} from "../api/anthropic/Message.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject, WholeUsage } from "../api/ResponseObject.ts"
import { cutOf, type OutputItem } from "../domain/Conversation.ts"
import { makeSealedEvents, type Seal, type SealedReasoning, sealedOutput } from "../openai/SealedItems.ts"

/**
 * From the core's events to an answer of Anthropic's Messages: each item that is shown is one block. Of what
 * the service's own tools do, only the texts that are written before, between and after them are shown.
 */

/** The parts of a request on which its answer depends. */
export interface MessagesView {
  /**
   * The shown part of the model's reasoning: its text; only its existence; or, where the request doesn't ask
   * for it, nothing.
   */
  readonly thinking: "summarized" | "omitted" | null
  /** null where `thinking` is. */
  readonly seal: Seal | null
}

/**
 * Reasoning that led to a call of the service's own tools can't be given back without that call, which is not
 * shown.
 */
const sealedView = ({ seal }: MessagesView) => ({ shown: { webSearch: true }, seal })

const usageOf = (usage: WholeUsage | null): MessageUsage => {
  const { cache_write_tokens: written = 0, cached_tokens: cached = 0 } = usage?.input_tokens_details ?? {}
  return {
    input_tokens: Math.max(0, (usage?.input_tokens ?? 0) - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: usage?.output_tokens ?? 0,
    output_tokens_details: { thinking_tokens: usage?.output_tokens_details.reasoning_tokens ?? 0 }
  }
}

const isRefusal = (item: OutputItem): boolean =>
  item.type === "message" && item.content.some((part) => part.isRefusal === true)

const stopReason = ({ incomplete_details, output }: ResponseObject): StopReason => {
  const cut = cutOf(incomplete_details)
  if (cut !== null) return cut === "content_filter" ? "refusal" : "max_tokens"
  if (output.some(({ type }) => type === "function_call")) return "tool_use"
  return output.some(isRefusal) ? "refusal" : "end_turn"
}

const decodeInput = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/**
 * Arguments that aren't a JSON object stand in an object as they are, so that the model sees what it wrote.
 */
const inputOf = (args: string): Readonly<Record<string, unknown>> =>
  args.trim() === "" ? {} : Option.getOrElse(decodeInput(args), () => ({ INVALID_JSON: args }))

const beginsText = { type: "text", text: "", citations: null } as const
/** Never sent: a call's block begins with its item. */
const beginsCall = { type: "tool_use", id: "", name: "", input: {}, caller: { type: "direct" } } as const
const beginsThinking = { type: "thinking", thinking: "", signature: "" } as const

const thinkingBlock = (
  { sealed, text }: SealedReasoning,
  { thinking }: MessagesView
): ContentBlock | null => {
  const data = sealed ?? ""
  if (thinking === null || (data === "" && (text === "" || thinking === "omitted"))) return null
  return text === ""
    ? { type: "redacted_thinking", data }
    : { type: "thinking", thinking: thinking === "omitted" ? "" : text, signature: data }
}

/** The block of an item; null for what is not shown. */
const blockOf = (item: OutputItem, view: MessagesView): ContentBlock | null => {
  switch (item.type) {
    case "message": {
      const text = item.content.map((part) => part.text).join("")
      // Other services refuse an empty text when a client gives it back.
      return text === "" ? null : { ...beginsText, text }
    }
    case "reasoning":
      return thinkingBlock(item, view)
    case "function_call": {
      const { arguments: args, call_id: id, name } = item
      return { type: "tool_use", id, name, input: inputOf(args), caller: { type: "direct" } }
    }
    case "mcp_call":
    case "file_search_call":
      return null
  }
}

const headOf = (response: ResponseObject) => ({
  id: shownId("message", response.id),
  type: "message" as const,
  role: "assistant" as const,
  model: response.model
})

/** A whole answer. */
export const renderMessage = (response: ResponseObject, view: MessagesView): Message => ({
  ...headOf(response),
  content: sealedOutput(response.output, sealedView(view)).flatMap((item) => blockOf(item, view) ?? []),
  stop_reason: stopReason(response),
  stop_sequence: null,
  usage: usageOf(response.usage)
})

/** The block as its first event shows it. */
const begun = (block: ContentBlock): ContentBlock => {
  switch (block.type) {
    case "text":
      return beginsText
    case "thinking":
      return beginsThinking
    case "tool_use":
      return { ...block, input: {} }
    case "redacted_thinking":
      return block
  }
}

const isWritten = (delta: BlockDelta): boolean => Object.values(delta).every((value) => value !== "")

/** The text of a call's input behind what was sent of it. */
const jsonOf = (args: string, input: unknown, sent: number): string =>
  sent > 0 || Option.isSome(decodeInput(args)) ? args.slice(sent) : JSON.stringify(input)

/** The rest of a block, of whose text `sent` characters were sent. */
const restOf = (block: ContentBlock, item: OutputItem, sent: number): ReadonlyArray<BlockDelta> => {
  switch (block.type) {
    case "text":
      return [{ type: "text_delta", text: block.text.slice(sent) }]
    case "thinking":
      return [
        { type: "thinking_delta", thinking: block.thinking.slice(sent) },
        { type: "signature_delta", signature: block.signature }
      ]
    case "tool_use": {
      const args = item.type === "function_call" ? item.arguments : ""
      return [{ type: "input_json_delta", partial_json: jsonOf(args, block.input, sent) }]
    }
    case "redacted_thinking":
      return []
  }
}

/** Renders what happens to the items of one response, as blocks. */
const makeBlocks = (view: MessagesView) => {
  let index = 0
  /** The characters that were sent of the open block; null where none is open. */
  let sent: number | null = null
  /** The beginning of a call's arguments, until it is known that they are an object. */
  let unsent = ""

  const begin = (block: ContentBlock): ReadonlyArray<MessageEvent> => {
    if (sent !== null) return []
    sent = 0
    return [{ type: "content_block_start", index, content_block: begun(block) }]
  }

  const add = (block: ContentBlock, delta: BlockDelta, length: number): ReadonlyArray<MessageEvent> => {
    if (length === 0) return []
    const started = begin(block)
    sent = (sent ?? 0) + length
    return [...started, { type: "content_block_delta", index, delta }]
  }

  const addJson = (delta: string): ReadonlyArray<MessageEvent> => {
    unsent += delta
    if (sent === 0 && !unsent.trimStart().startsWith("{")) return []
    const partial_json = unsent
    unsent = ""
    return add(beginsCall, { type: "input_json_delta", partial_json }, partial_json.length)
  }

  const end = (item: OutputItem): ReadonlyArray<MessageEvent> => {
    const block = blockOf(item, view)
    if (block === null) return []
    const started = begin(block)
    const place = { index }
    const left = restOf(block, item, sent ?? 0).filter(isWritten)
    sent = null
    unsent = ""
    index++
    return [
      ...started,
      ...left.map((delta) => ({ type: "content_block_delta" as const, ...place, delta })),
      { type: "content_block_stop", ...place }
    ]
  }

  return (event: EventBody): ReadonlyArray<MessageEvent> => {
    switch (event.type) {
      case "response.output_item.added": {
        const block = event.item.type === "function_call" ? blockOf(event.item, view) : null
        return block === null ? [] : begin(block)
      }
      case "response.output_text.delta":
      case "response.refusal.delta":
        return add(beginsText, { type: "text_delta", text: event.delta }, event.delta.length)
      case "response.reasoning_text.delta":
        return view.thinking === "summarized"
          ? add(beginsThinking, { type: "thinking_delta", thinking: event.delta }, event.delta.length)
          : []
      case "response.function_call_arguments.delta":
        return addJson(event.delta)
      case "response.output_item.done":
        return end(event.item)
      default:
        return []
    }
  }
}

/** The item that an event is about; null if it is about none. */
const itemOf = (event: EventBody): string | null => {
  if ("item" in event) return event.item.id
  return "item_id" in event ? event.item_id : null
}

/**
 * Puts events in an order in which blocks follow each other: what comes of other items while a call is open
 * waits for its end.
 */
const makeInOrder = () => {
  const held: Array<EventBody> = []
  let call: string | null = null
  const next = (event: EventBody): ReadonlyArray<EventBody> => {
    const item = itemOf(event)
    if (call !== null && item !== null && item !== call) {
      held.push(event)
      return []
    }
    if (event.type === "response.output_item.added" && event.item.type === "function_call") call = item
    if (event.type !== "response.output_item.done" || item !== call) return [event]
    call = null
    return [event, ...held.splice(0).flatMap(next)]
  }
  return next
}

/** Renders the events of one response, in their order, each as the events that stand for it. */
export const makeMessagesRenderer = (
  view: MessagesView
): ((event: EventBody) => ReadonlyArray<MessageEvent>) => {
  const blocks = makeBlocks(view)

  const rendered = (event: EventBody): ReadonlyArray<MessageEvent> => {
    switch (event.type) {
      case "response.created": {
        const none = { content: [], stop_reason: null, stop_sequence: null, usage: usageOf(null) }
        return [{ type: "message_start", message: { ...headOf(event.response), ...none } }]
      }
      case "response.completed": {
        const delta = { stop_reason: stopReason(event.response), stop_sequence: null }
        return [
          { type: "message_delta", delta, usage: usageOf(event.response.usage) },
          { type: "message_stop" }
        ]
      }
      default:
        return blocks(event)
    }
  }

  const inOrder = makeInOrder()
  const sealed = view.seal === null ? null : makeSealedEvents(sealedView(view))
  return (event) => (sealed === null ? [event] : sealed(event)).flatMap(inOrder).flatMap(rendered)
}
