import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ConversationId, ItemId } from "../../domain/Ids.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { describeQuery } from "../OperationDescription.ts"
import { Item } from "./CreateBody.ts"
import { Metadata } from "./Fields.ts"
import { givenId } from "./ProfileIds.ts"
import { ItemList, pageQuery, pageQueryDescription, StoredItem } from "./StoredItem.ts"

/** Items that one request adds. */
const addedItemsMax = 20

const itemsWords = `a list of at most ${addedItemsMax} items`

const Items = Schema.Array(Item)
  .annotate({ expected: itemsWords })
  .check(Schema.isMaxLength(addedItemsMax, { expected: itemsWords }))

const maybe = <S extends Schema.Top>(schema: S) => Schema.optional(Schema.NullOr(schema))

const params = { conversation_id: givenId(ConversationId, "conversation") }
const itemParams = { ...params, item_id: givenId(ItemId, "message") }

export const Conversation = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("conversation"),
  /** Unix epoch in seconds. */
  created_at: Schema.Int,
  metadata: Schema.Record(Schema.String, Schema.String)
}).annotate({ identifier: "Conversation" })
export type Conversation = typeof Conversation.Type

const ConversationDeleted = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("conversation.deleted"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ConversationDeleted" })

const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

const path = "/conversations/:conversation_id" as const

const create = HttpApiEndpoint.post("create", "/conversations", {
  payload: Schema.Struct({ items: maybe(Items), metadata: maybe(Metadata) }).annotate({
    identifier: "CreateConversationBody",
    expected: "a JSON object"
  }),
  success: Conversation
}).annotateMerge(
  described(
    "Create a conversation",
    "`items` are what it begins with; texts of the roles system and developer are its instructions."
  )
)

const get = HttpApiEndpoint.get("get", path, { params, success: Conversation }).annotateMerge(
  described("Show a conversation", "Also one that came about by a response.")
)

const update = HttpApiEndpoint.post("update", path, {
  params,
  payload: Schema.Struct({ metadata: Metadata }).annotate({
    identifier: "UpdateConversationBody",
    expected: "a JSON object"
  }),
  success: Conversation
}).annotateMerge(described("Change a conversation", "Replaces its metadata."))

const remove = HttpApiEndpoint.delete("delete", path, { params, success: ConversationDeleted }).annotateMerge(
  described("Delete a conversation", "With its responses and all their items, for good.")
)

const items = HttpApiEndpoint.get("items", `${path}/items`, {
  params,
  query: pageQuery,
  success: ItemList
}).annotateMerge(
  OpenApi.annotations({
    summary: "List items",
    description: "The last item first, unless `order` says otherwise; go on with `last_id` as `after`.",
    transform: describeQuery(pageQueryDescription)
  })
)

const addItems = HttpApiEndpoint.post("addItems", `${path}/items`, {
  params,
  payload: Schema.Struct({ items: Items }).annotate({
    identifier: "AddItemsBody",
    expected: "a JSON object"
  }),
  success: ItemList
}).annotateMerge(described("Add items", "They are the context of later answers."))

const item = HttpApiEndpoint.get("item", `${path}/items/:item_id`, {
  params: itemParams,
  success: StoredItem
}).annotateMerge(described("Show an item", "One item of a conversation."))

const deleteItem = HttpApiEndpoint.delete("deleteItem", `${path}/items/:item_id`, {
  params: itemParams,
  success: Conversation
}).annotateMerge(
  described(
    "Delete an item",
    "Later answers don't know it, and the response that it belongs to is shown without it."
  )
)

/** Conversations that their clients look after themselves. */
export class ConversationsApi extends HttpApiGroup.make("conversations")
  .add(create, get, update, remove, items, addItems, item, deleteItem)
  .middleware(BoundedBody)
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Conversations", description: "Conversations and their items." })
  ) {}
