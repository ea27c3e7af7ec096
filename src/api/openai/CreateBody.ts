import { Schema } from "effect"
import { ConversationId, ItemId, ResponseId } from "../../domain/Ids.ts"
import { reasoningEfforts, topLogprobsMax } from "../../domain/ModelCall.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { MaxOutputTokens } from "../CreateResponse.ts"
import { inSteps } from "../ReadInSteps.ts"
import { callItems, callItemTypes } from "./CallItems.ts"
import { CompactionItem } from "./Compaction.ts"
import {
  between,
  FunctionName,
  JsonObject,
  Label,
  likeliest,
  maybe,
  Metadata,
  positiveInteger
} from "./Fields.ts"
import { Part } from "./Parts.ts"
import { givenId } from "./ProfileIds.ts"
import { OwnTools, ToolChoice, Tools } from "./Tools.ts"

/**
 * The body of `POST /openai/v1/responses`: what clients of the OpenAI interface send. Each field is honoured
 * or refused.
 */

const itemsMax = 10_000
const partsMax = 10_000
const includesMax = 32

// Items.

const parts = Schema.Array(inSteps(Part)).check(
  Schema.isMaxLength(partsMax, { expected: `a list of at most ${partsMax} parts` })
)

const Message = Schema.Struct({
  type: maybe(Schema.Literal("message")),
  role: Schema.Literals(["user", "assistant", "system", "developer"]),
  content: Schema.Union([StorableText, parts]).annotate({ expected: "a string or a list of parts" })
})

const ItemReference = Schema.Struct({
  type: Schema.Literal("item_reference"),
  id: givenId(ItemId, "message")
})

/** A reference needs no type; a message with an id is none. */
const BareReference = Schema.Struct({
  type: Schema.optional(Schema.Null),
  id: givenId(ItemId, "message"),
  role: Schema.optional(Schema.Undefined),
  content: Schema.optional(Schema.Undefined)
})

/**
 * Items of what the service, or another one, did in an earlier turn; they are context at most, and never done
 * again.
 */
const replayedTypes = ["reasoning", "web_search_call", "file_search_call", "mcp_call"] as const

const Text = Schema.optionalKey(Schema.NullOr(StorableText))

const ReplayedItem = Schema.Struct({
  type: Schema.Literals(replayedTypes),
  name: Text,
  arguments: Text,
  output: Text,
  error: Text,
  encrypted_content: Text
})

export const Item = Schema.Union([
  CompactionItem,
  ...callItems,
  ItemReference,
  ReplayedItem,
  Message,
  BareReference
]).annotate({
  expected:
    "a message with a role and content, a function_call, a function_call_output, an item_reference, a compaction, or an item of an earlier answer"
})
export type Item = typeof Item.Type
export const itemTypes = [
  "message",
  "item_reference",
  "compaction",
  ...callItemTypes,
  ...replayedTypes
] as const

const Input = Schema.Union([
  StorableText,
  Schema.Array(inSteps(Item)).check(
    Schema.isMaxLength(itemsMax, { expected: `a list of at most ${itemsMax} items` })
  )
]).annotate({ expected: "a string or a list of items" })

// The form of the answer.

const JsonSchemaFormat = Schema.Struct({
  type: Schema.Literal("json_schema"),
  name: FunctionName,
  description: maybe(StorableText),
  schema: JsonObject,
  strict: maybe(Schema.Boolean)
})

const Format = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text") }),
  Schema.Struct({ type: Schema.Literal("json_object") }),
  JsonSchemaFormat
]).annotate({ expected: "an object of the type text, json_object or json_schema" })
export type Format = typeof Format.Type

export const efforts = reasoningEfforts
export const verbosities = ["low", "medium", "high"] as const

/**
 * An answer includes some of these if it is asked to; the others are never made here, so that there is
 * nothing to include.
 */
export const includes = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs"
] as const

const ConversationReference = Schema.Union([
  givenId(ConversationId, "conversation"),
  Schema.Struct({ id: givenId(ConversationId, "conversation") })
]).annotate({ expected: "the id of a conversation or an object with its id" })

/** Every field that is honoured, and those that only some values of are. */
export const CreateBody = Schema.Struct({
  model: maybe(StorableText).annotate({
    description: "A model of GET /openai/v1/models. `auto`, or none, leaves the choice to the service.",
    default: "auto"
  }),
  input: Input,
  instructions: maybe(StorableText),
  stream: maybe(Schema.Boolean).annotate({ expected: "true, false or null", default: false }),
  stream_options: maybe(Schema.Struct({ include_obfuscation: maybe(Schema.Boolean) })),
  store: maybe(Schema.Boolean).annotate({ expected: "true, false or null", default: true }),
  background: maybe(Schema.Boolean).annotate({ expected: "true, false or null", default: false }),
  conversation: maybe(ConversationReference),
  previous_response_id: maybe(givenId(ResponseId, "response")),
  max_output_tokens: maybe(MaxOutputTokens),
  max_tool_calls: maybe(positiveInteger),
  temperature: maybe(between(0, 2)),
  top_p: maybe(between(0, 1)),
  presence_penalty: maybe(between(-2, 2)),
  frequency_penalty: maybe(between(-2, 2)),
  top_logprobs: maybe(likeliest(topLogprobsMax)).annotate({
    description: "Above 0 it asks for logprobs, as `include` does with `message.output_text.logprobs`."
  }),
  truncation: maybe(Schema.Literals(["auto", "disabled"]).annotate({ expected: "auto or disabled" })),
  parallel_tool_calls: maybe(Schema.Boolean),
  tools: maybe(Tools),
  tool_choice: maybe(ToolChoice),
  own_tools: maybe(OwnTools),
  text: maybe(
    Schema.Struct({
      format: maybe(Format),
      verbosity: maybe(Schema.Literals(verbosities).annotate({ expected: verbosities.join(", ") }))
    })
  ),
  reasoning: maybe(
    Schema.Struct({
      effort: maybe(Schema.Literals(efforts).annotate({ expected: `one of ${efforts.join(", ")}` })),
      summary: maybe(Label),
      generate_summary: maybe(Label)
    })
  ),
  include: maybe(
    Schema.Array(Label).check(
      Schema.isMaxLength(includesMax, { expected: `a list of at most ${includesMax}` })
    )
  ),
  metadata: maybe(Metadata),
  service_tier: maybe(Label),
  user: maybe(Label),
  safety_identifier: maybe(Label),
  prompt_cache_key: maybe(Label),
  prompt_cache_retention: maybe(Label),
  prompt: Schema.optional(
    Schema.Null.annotate({ expected: "null: there are no stored prompts; send `instructions` and `input`" })
  )
}).annotate({ identifier: "CreateResponseBody", expected: "a JSON object" })
export type CreateBody = typeof CreateBody.Type
