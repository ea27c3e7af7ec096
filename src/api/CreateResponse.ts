import { Schema, SchemaTransformation } from "effect"
import { ConversationId, FileId, ItemId, ProjectId, ResponseId } from "../domain/Ids.ts"
import { expectedStorable, isStorable } from "../domain/storable.ts"
import { StorableText } from "../domain/StorableText.ts"
import { inSteps, withUnknownFields } from "./ReadInSteps.ts"

/** The body of `POST /v1/responses`. Source: specification, Resources; wire contract, section 1. */

const itemsMax = 10_000
/** In one item. */
const partsMax = 10_000
/** In one request. */
const filePartsMax = 500

/** True if PostgreSQL can store every text in a JSON value. */
export const isAllStorable = (value: unknown): boolean => {
  if (typeof value === "string") return isStorable(value)
  if (typeof value !== "object" || value === null) return true
  return Array.isArray(value)
    ? value.every(isAllStorable)
    : Object.entries(value).every(([key, inner]) => isStorable(key) && isAllStorable(inner))
}

/** A field of a replayed item, of any shape. */
const Replayed = Schema.optionalKey(
  Schema.Any.check(Schema.makeFilter(isAllStorable, { expected: expectedStorable }))
)

/** Clients may send an id in upper case; the service writes lower case. */
const idOf = <Id extends Schema.Codec<string, string>>(id: Id) =>
  Schema.String.annotate({ expected: "a UUID" })
    .check(Schema.isUUID())
    .pipe(Schema.decodeTo(id, SchemaTransformation.toLowerCase()))

/** Absent and null mean the same. */
const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

const InputTextPart = Schema.Struct({
  type: Schema.Literal("input_text"),
  text: StorableText
}).annotate({ identifier: "InputTextPart" })

const InputFilePart = Schema.Struct({
  type: Schema.Literal("input_file"),
  file_id: idOf(FileId)
}).annotate({ identifier: "InputFilePart", description: "A file uploaded before, by its id." })

const OutputTextPart = Schema.Struct({
  type: Schema.Literal("output_text"),
  text: StorableText
}).annotate({ identifier: "OutputTextPart", description: "Text of an earlier answer, replayed." })

const Part = Schema.Union([InputTextPart, InputFilePart, OutputTextPart]).annotate({
  expected: "an input_text, input_file or output_text part; images are not supported"
})

export type Part = typeof Part.Type

export const replayedTypes = [
  "mcp_call",
  "file_search_call",
  "web_search_call",
  "reasoning",
  "function_call",
  "function_call_output"
] as const

const replayed: ReadonlySet<unknown> = new Set(replayedTypes)

export const isReplayedType = (type: unknown): boolean => replayed.has(type)

const ContentItem = Schema.Struct({
  // An invalid replayed item must not be taken for a message of the user because it has content.
  type: maybe(
    StorableText.check(Schema.makeFilter((type) => !isReplayedType(type), { expected: "message" }))
  ),
  role: maybe(StorableText),
  content: Schema.Union([
    StorableText,
    Schema.Array(inSteps(Part)).check(
      Schema.isMaxLength(partsMax, { expected: `a list of at most ${partsMax} parts` })
    )
  ]).annotate({ expected: "a string or a list of parts" })
}).annotate({
  identifier: "ContentItem",
  description:
    "A message. `role` is usually `user`; `system` and `developer` give instructions for this response, `assistant` " +
    "replays an earlier answer, and anything else counts as `user`."
})
type ContentItem = typeof ContentItem.Type

const ItemReference = Schema.Struct({
  type: Schema.Literal("item_reference"),
  id: idOf(ItemId)
}).annotate({ identifier: "ItemReference", description: "An item of an earlier turn of the same user." })

/** Items of earlier turns that clients replay. They may become context; they are never run again. */
export const ReplayedItem = Schema.Struct({
  type: Schema.Literals(replayedTypes),
  call_id: Replayed,
  name: Replayed,
  arguments: Replayed,
  output: Replayed,
  error: Replayed,
  queries: Replayed,
  results: Replayed,
  action: Replayed,
  summary: Replayed,
  content: Replayed
}).annotate({
  identifier: "ReplayedItem",
  description: "What a tool or a model did in an earlier turn. It is never run again."
})
export type ReplayedItem = typeof ReplayedItem.Type

const InputEntry = Schema.Union([ItemReference, ReplayedItem, ContentItem]).annotate({
  expected: "an item: an object with content, or with the type and fields of an item of an earlier turn"
})
export type InputEntry = typeof InputEntry.Type

/** Replayed reasoning may have content too, but is no message. */
const isMessage = (entry: InputEntry): entry is ContentItem =>
  entry.type !== "item_reference" && !isReplayedType(entry.type)

const hasFewFiles = Schema.makeFilter(
  (entries: ReadonlyArray<InputEntry>) => {
    let files = 0
    for (const entry of entries) {
      if (!isMessage(entry) || typeof entry.content === "string") continue
      for (const part of entry.content) if (part.type === "input_file") files++
    }
    return files <= filePartsMax
  },
  { expected: `a list with at most ${filePartsMax} files` }
)

const Input = Schema.Union([
  StorableText.check(Schema.isMinLength(1, { expected: "a message that is not empty" })),
  Schema.Array(inSteps(InputEntry)).check(
    Schema.isMinLength(1, { expected: "a list with at least one item" }),
    Schema.isMaxLength(itemsMax, { expected: `a list of at most ${itemsMax} items` }),
    hasFewFiles
  )
]).annotate({ expected: "a string or a list of items" })

const isPositiveInteger = (value: number): boolean =>
  value > 0 && (Number.isInteger(value) || value === Infinity)

/**
 * Any positive integer of JSON. One that exceeds the range of a number becomes the largest safe integer,
 * which every model clamps (spec: CreateResponseRequest, rule 5).
 */
export const MaxOutputTokens = Schema.Number.annotate({ expected: "a positive integer" })
  .check(
    Schema.makeFilter(isPositiveInteger, {
      expected: "a positive integer",
      // A value beyond the range of a number is parsed as Infinity, so the JSON Schema must not follow from
      // the check.
      representation: { id: "effect/schema/isInt", payload: null },
      toJsonSchema: () => ({ type: "integer", exclusiveMinimum: 0 })
    })
  )
  .pipe(
    Schema.decodeTo(
      Schema.Int,
      SchemaTransformation.transform({
        decode: (value) => Math.min(value, Number.MAX_SAFE_INTEGER),
        encode: (value) => value
      })
    )
  )

const ConversationReference = Schema.Union([
  idOf(ConversationId),
  Schema.Struct({ id: idOf(ConversationId) })
]).annotate({
  expected: "the id of a conversation or an object with its id"
})

export const CreateResponse = Schema.Struct({
  model: maybe(StorableText).annotate({
    description: "Accepted for client libraries and ignored: the service chooses the model.",
    default: "auto"
  }),
  input: Input.annotate({ description: "The user's message, or a list of items." }),
  stream: maybe(Schema.Boolean).annotate({
    description: "True answers with an event stream, false with one JSON document.",
    expected: "true, false or null",
    default: true
  }),
  instructions: maybe(StorableText).annotate({ description: "The system prompt for this response." }),
  conversation_id: maybe(idOf(ConversationId)).annotate({
    description: "The conversation to append to. Without it the request is stateless."
  }),
  project_id: maybe(idOf(ProjectId)).annotate({ description: "The project whose files are searched." }),
  max_output_tokens: maybe(MaxOutputTokens).annotate({
    description: "Upper bound on generated tokens; clamped to the chosen model's own maximum."
  }),
  conversation: maybe(ConversationReference).annotate({
    description: "Another way to name the conversation."
  }),
  previous_response_id: maybe(idOf(ResponseId)).annotate({
    description: "Names the conversation of that response."
  }),
  store: maybe(Schema.Boolean).annotate({
    description:
      "False stores nothing: no conversation, no turn and no text. The answer's ids then name nothing that could be " +
      "continued. With the id of an existing conversation its history is used and nothing is added to it.",
    expected: "true, false or null",
    default: true
  })
}).annotate({ identifier: "CreateResponseRequest", expected: "a JSON object" })
export type CreateResponse = typeof CreateResponse.Type

/** The body with its undocumented fields, which a response names as ignored. */
export const CreateResponseBody = withUnknownFields(CreateResponse).annotate({
  identifier: "CreateResponseRequest",
  expected: "a JSON object"
})
