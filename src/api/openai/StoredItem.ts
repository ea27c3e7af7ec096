import { Schema, SchemaTransformation } from "effect"
import { ItemId } from "../../domain/Ids.ts"
import { imageDetails } from "../../domain/ModelCall.ts"
import { givenId } from "./ProfileIds.ts"
import { Item, MessagePart } from "./ResponseResource.ts"

/**
 * The items that a response was asked and that a conversation has, as clients of the OpenAI interface read
 * them.
 */

const pageItemsMax = 100
export const pageItemsDefault = 20

/** The same for the description. */
export const pageQueryDescription = {
  limit: { type: "integer", minimum: 1, maximum: pageItemsMax, default: pageItemsDefault },
  order: { type: "string", enum: ["asc", "desc"], default: "desc" }
}

const limitWords = `a whole number from 1 to ${pageItemsMax}`

/** Which items of a list, as its query says. */
export const pageQuery = {
  after: Schema.optionalKey(givenId(ItemId, "message")),
  limit: Schema.optionalKey(
    Schema.String.annotate({ expected: limitWords })
      .check(
        Schema.makeFilter((text) => /^[1-9]\d*$/.test(text) && Number(text) <= pageItemsMax, {
          expected: limitWords
        })
      )
      .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))
  ),
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
}

const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String })

const InputFile = Schema.Struct({ type: Schema.Literal("input_file"), file_id: Schema.String })

/** Without the image itself. */
const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  detail: Schema.Literals(imageDetails),
  image_url: Schema.Null,
  file_id: Schema.Null
})

const Message = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("message"),
  status: Schema.Literals(["in_progress", "completed", "incomplete", "failed"]),
  role: Schema.Literals(["user", "assistant"]),
  content: Schema.Array(Schema.Union([InputText, InputFile, InputImage, MessagePart]))
}).annotate({ identifier: "StoredMessage" })

const FunctionCallOutput = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function_call_output"),
  status: Schema.Literals(["in_progress", "completed", "failed"]),
  call_id: Schema.String,
  output: Schema.Union([Schema.String, Schema.Array(Schema.Union([InputText, InputFile, InputImage]))])
}).annotate({ identifier: "FunctionCallOutput" })

export const StoredItem = Schema.Union([Message, FunctionCallOutput, Item])
export type StoredItem = typeof StoredItem.Type

export const ItemList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(StoredItem),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String),
  has_more: Schema.Boolean
}).annotate({ identifier: "ItemList" })
export type ItemList = typeof ItemList.Type
