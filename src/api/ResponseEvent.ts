import { Schema } from "effect"
import { ItemId } from "../domain/Ids.ts"
import { OutputItem, OutputText } from "../domain/Item.ts"
import { ErrorBody } from "./ErrorEnvelope.ts"
import { ResponseObject } from "./ResponseObject.ts"

/** The events of a streamed response. Source: specification, Events; wire contract, section 2. */

const part = {
  item_id: ItemId,
  output_index: Schema.Int,
  content_index: Schema.Int
}

const bodies = {
  created: { type: Schema.Literal("response.created"), response: ResponseObject },
  itemAdded: {
    type: Schema.Literal("response.output_item.added"),
    output_index: Schema.Int,
    item: OutputItem
  },
  itemDone: { type: Schema.Literal("response.output_item.done"), output_index: Schema.Int, item: OutputItem },
  partAdded: { type: Schema.Literal("response.content_part.added"), ...part, part: OutputText },
  textDelta: {
    type: Schema.Literal("response.output_text.delta"),
    ...part,
    delta: Schema.String,
    logprobs: Schema.Array(Schema.Unknown)
  },
  textDone: {
    type: Schema.Literal("response.output_text.done"),
    ...part,
    text: Schema.String,
    logprobs: Schema.Array(Schema.Unknown)
  },
  completed: { type: Schema.Literal("response.completed"), response: ResponseObject },
  // Flat as in the specification, and nested as client libraries read it.
  error: {
    type: Schema.Literal("error"),
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String),
    error: Schema.Struct({ ...ErrorBody.fields, param: Schema.NullOr(Schema.String) })
  }
} as const

const numbered = { sequence_number: Schema.Int }

export const ResponseEvent = Schema.Union([
  Schema.Struct({ ...bodies.created, ...numbered }).annotate({ identifier: "ResponseCreatedEvent" }),
  Schema.Struct({ ...bodies.itemAdded, ...numbered }).annotate({ identifier: "OutputItemAddedEvent" }),
  Schema.Struct({ ...bodies.itemDone, ...numbered }).annotate({ identifier: "OutputItemDoneEvent" }),
  Schema.Struct({ ...bodies.partAdded, ...numbered }).annotate({ identifier: "ContentPartAddedEvent" }),
  Schema.Struct({ ...bodies.textDelta, ...numbered }).annotate({ identifier: "OutputTextDeltaEvent" }),
  Schema.Struct({ ...bodies.textDone, ...numbered }).annotate({ identifier: "OutputTextDoneEvent" }),
  Schema.Struct({ ...bodies.completed, ...numbered }).annotate({ identifier: "ResponseCompletedEvent" }),
  Schema.Struct({ ...bodies.error, ...numbered }).annotate({ identifier: "ErrorEvent" })
]).annotate({ identifier: "ResponseEvent" })
export type ResponseEvent = typeof ResponseEvent.Type

type WithoutNumber<E> = E extends unknown ? Omit<E, "sequence_number"> : never

/** An event without its number, which delivery adds. */
export type EventBody = WithoutNumber<ResponseEvent>

/** The terminal event of a failed stream. */
export const errorEvent = (body: ErrorBody): EventBody => {
  const param = body.param === "" ? null : body.param
  return { type: "error", code: body.code, message: body.message, param, error: { ...body, param } }
}

/** Adds the number of the event in its stream, from 0, after the type. */
export const numberEvent = (event: EventBody, sequenceNumber: number): ResponseEvent =>
  Object.assign({ type: event.type, sequence_number: sequenceNumber }, event)
