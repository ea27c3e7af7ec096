import { Schema } from "effect"
import { TokenLogprob } from "../../domain/ModelCall.ts"
import { FileCitation, Item, MessagePart, ResponseResource } from "./ResponseResource.ts"

/** The events of a streamed response in the grammar of the OpenAI interface. `event:` is their type. */

const inItem = { item_id: Schema.String, output_index: Schema.Int }
const inPart = { ...inItem, content_index: Schema.Int }
const inSummary = { ...inItem, summary_index: Schema.Int }

const event = <const Type extends string, const Fields extends Schema.Struct.Fields>(
  type: Type,
  fields: Fields
) => Schema.Struct({ type: Schema.Literal(type), ...fields, sequence_number: Schema.Int })

const whole = { response: ResponseResource }
const item = { output_index: Schema.Int, item: Item }
const SummaryPart = Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })

export const ProfileEvent = Schema.Union([
  event("response.created", whole),
  event("response.queued", whole),
  event("response.in_progress", whole),
  event("response.output_item.added", item),
  event("response.content_part.added", { ...inPart, part: MessagePart }),
  event("response.output_text.delta", {
    ...inPart,
    delta: Schema.String,
    logprobs: Schema.Array(TokenLogprob)
  }),
  event("response.output_text.annotation.added", {
    ...inPart,
    annotation_index: Schema.Int,
    annotation: FileCitation
  }),
  event("response.output_text.done", {
    ...inPart,
    text: Schema.String,
    logprobs: Schema.Array(TokenLogprob)
  }),
  event("response.refusal.delta", { ...inPart, delta: Schema.String }),
  event("response.refusal.done", { ...inPart, refusal: Schema.String }),
  event("response.content_part.done", { ...inPart, part: MessagePart }),
  event("response.function_call_arguments.delta", { ...inItem, delta: Schema.String }),
  event("response.function_call_arguments.done", {
    ...inItem,
    name: Schema.String,
    arguments: Schema.String
  }),
  event("response.custom_tool_call_input.delta", { ...inItem, delta: Schema.String }),
  event("response.custom_tool_call_input.done", { ...inItem, input: Schema.String }),
  event("response.reasoning_summary_part.added", { ...inSummary, part: SummaryPart }),
  event("response.reasoning_summary_text.delta", { ...inSummary, delta: Schema.String }),
  event("response.reasoning_summary_text.done", { ...inSummary, text: Schema.String }),
  event("response.reasoning_summary_part.done", { ...inSummary, part: SummaryPart }),
  event("response.web_search_call.in_progress", inItem),
  event("response.web_search_call.searching", inItem),
  event("response.web_search_call.completed", inItem),
  event("response.file_search_call.in_progress", inItem),
  event("response.file_search_call.searching", inItem),
  event("response.file_search_call.completed", inItem),
  event("response.output_item.done", item),
  event("response.completed", whole),
  event("response.incomplete", whole),
  event("error", {
    code: Schema.String,
    message: Schema.String,
    param: Schema.NullOr(Schema.String),
    error: Schema.Struct({
      type: Schema.String,
      code: Schema.String,
      message: Schema.String,
      param: Schema.NullOr(Schema.String)
    })
  }),
  event("response.failed", whole)
]).annotate({ identifier: "ResponseStreamEvent" })
export type ProfileEvent = typeof ProfileEvent.Type

type WithoutNumber<E> = E extends unknown ? Omit<E, "sequence_number"> : never

/** An event without its number, which delivery adds. */
export type ProfileEventBody = WithoutNumber<ProfileEvent>
