import { Schema } from "effect"
import type { OutputItem, OutputText } from "../domain/Conversation.ts"
import { ItemId } from "../domain/Ids.ts"
import type { TokenLogprob } from "../domain/ModelCall.ts"
import { ErrorBody } from "./ErrorEnvelope.ts"
import { ResponseObject, type ShownResponse, shownResponse } from "./ResponseObject.ts"
import {
  OwnOutputItem,
  type ReasoningShown,
  shownOutput,
  type ShownOutputItem,
  ShownText,
  shownText
} from "./ShownItem.ts"

/** The events of a streamed response. Source: specification, Events; wire contract, section 2. */

const part = {
  item_id: ItemId,
  output_index: Schema.Int,
  content_index: Schema.Int
}

const event = <const Fields extends Schema.Struct.Fields>(identifier: string, fields: Fields) =>
  Schema.Struct({ ...fields, sequence_number: Schema.Int }).annotate({ identifier })

export const ResponseEvent = Schema.Union([
  event("ResponseCreatedEvent", { type: Schema.Literal("response.created"), response: ResponseObject }),
  event("OutputItemAddedEvent", {
    type: Schema.Literal("response.output_item.added"),
    output_index: Schema.Int,
    item: OwnOutputItem
  }),
  event("OutputItemDoneEvent", {
    type: Schema.Literal("response.output_item.done"),
    output_index: Schema.Int,
    item: OwnOutputItem
  }),
  event("ContentPartAddedEvent", {
    type: Schema.Literal("response.content_part.added"),
    ...part,
    part: ShownText
  }),
  event("OutputTextDeltaEvent", {
    type: Schema.Literal("response.output_text.delta"),
    ...part,
    delta: Schema.String,
    logprobs: Schema.Array(Schema.Unknown)
  }),
  event("OutputTextDoneEvent", {
    type: Schema.Literal("response.output_text.done"),
    ...part,
    text: Schema.String,
    logprobs: Schema.Array(Schema.Unknown)
  }),
  event("ResponseCompletedEvent", { type: Schema.Literal("response.completed"), response: ResponseObject }),
  // Flat as in the specification, and nested as client libraries read it.
  event("ErrorEvent", {
    type: Schema.Literal("error"),
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String),
    error: Schema.Struct({ ...ErrorBody.fields, param: Schema.NullOr(Schema.String) })
  })
]).annotate({ identifier: "ResponseEvent" })
/** Its items may also be calls of the client's functions, like those of a ResponseObject. */
export type ResponseEvent = EventOf<typeof ResponseEvent.Type, typeof ShownOutputItem.Type, ShownResponse>

type EventOf<E, Item, Response> = E extends { readonly item: unknown }
  ? Omit<E, "item"> & { readonly item: Item }
  : E extends { readonly response: unknown }
    ? Omit<E, "response"> & { readonly response: Response }
    : E

/** An event of the web application's stream, which also has each piece of what the model thinks. */
export const AnswerEvent = Schema.Union([
  ...ResponseEvent.members,
  event("ReasoningTextDeltaEvent", {
    type: Schema.Literal("response.reasoning_text.delta"),
    ...part,
    delta: Schema.String
  })
]).annotate({ identifier: "AnswerEvent" })
export type AnswerEvent =
  | ResponseEvent
  | Extract<typeof AnswerEvent.Type, { readonly type: "response.reasoning_text.delta" }>

type WithoutNumber<E> = E extends unknown ? Omit<E, "sequence_number"> : never

/** A piece of what the model thinks. */
interface ReasoningDelta {
  readonly type: "response.reasoning_text.delta"
  readonly item_id: ItemId
  readonly output_index: number
  readonly content_index: 0
  readonly delta: string
}

/** A piece of the text by which the model refuses to answer. On `/v1` it is text. */
interface RefusalDelta extends Omit<ReasoningDelta, "type"> {
  readonly type: "response.refusal.delta"
}

/** A piece of the arguments of a call that the client runs. Requests of `/v1` have no such functions. */
interface ArgumentsDelta extends Omit<ReasoningDelta, "type" | "content_index"> {
  readonly type: "response.function_call_arguments.delta"
}

/** An event of the core. Delivery adds its number, and leaves out what only the service reads. */
export type EventBody = ShownBody | ReasoningDelta | RefusalDelta | ArgumentsDelta
type ShownBody = TextOf<WithoutNumber<EventOf<typeof ResponseEvent.Type, OutputItem, ResponseObject>>>

/** With the logprobs of the text, for which no request of `/v1` can ask. */
type TextOf<E> = E extends { readonly logprobs: unknown }
  ? Omit<E, "logprobs"> & { readonly logprobs: ReadonlyArray<TokenLogprob> }
  : E extends { readonly part: unknown }
    ? Omit<E, "part"> & { readonly part: OutputText }
    : E

/** True if no event follows this one. */
export const isTerminal = (event: EventBody | undefined): boolean =>
  event?.type === "response.completed" || event?.type === "error"

/** The terminal event of a failed stream. */
export const errorEvent = ({ code, message, param: field, type }: ErrorBody): EventBody => {
  const param = field === "" ? null : field
  return { type: "error", code, message, param, error: { message, type, code, param } }
}

/**
 * The event as clients see it, with its number in the stream, from 0, after the type; null for what is not
 * shown.
 */
export const shownEvent = (
  event: EventBody,
  sequenceNumber: number,
  reasoning: ReasoningShown = "off"
): AnswerEvent | null => {
  if (event.type === "response.refusal.delta")
    return shownEvent(
      { ...event, type: "response.output_text.delta", logprobs: [] },
      sequenceNumber,
      reasoning
    )
  if (event.type === "response.function_call_arguments.delta") return null
  const numbered = <E extends { readonly type: string }>(one: E) =>
    Object.assign({ type: one.type, sequence_number: sequenceNumber }, one)
  if (event.type === "response.reasoning_text.delta") return reasoning === "streamed" ? numbered(event) : null
  if (event.type === "response.content_part.added") return numbered({ ...event, part: shownText(event.part) })
  if ("response" in event) return numbered({ ...event, response: shownResponse(event.response, reasoning) })
  if (!("item" in event)) return numbered(event)
  const item = shownOutput(event.item, reasoning)
  return item && numbered({ ...event, item })
}

const asItIs = (event: EventBody): EventBody => event

/** Gives the items of one stream the places that they have without what is not shown. */
export const makeShownPlaces = (reasoning: ReasoningShown = "off"): ((event: EventBody) => EventBody) => {
  if (reasoning !== "off") return asItIs
  const hidden = new Set<number>()
  return (event) => {
    if (!("output_index" in event)) return event
    const { output_index: index } = event
    if ("item" in event && event.item.type === "reasoning") hidden.add(index)
    if (hidden.size === 0) return event
    return { ...event, output_index: index - [...hidden].filter((one) => one < index).length }
  }
}
