import { Context, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type StoredItem, StoredItem as StoredItemSchema } from "../domain/Conversation.ts"
import {
  ConversationNotFound,
  CursorNotFound,
  type DatabaseUnavailable,
  ItemNotFound
} from "../domain/Errors.ts"
import { ConversationId, type ItemId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeDeleteConversation } from "./ConversationDeletion.ts"
import { type ItemsPage, itemsPage, type ItemsWanted } from "./StoredResponses.ts"

const ConversationRow = Schema.Struct({
  id: ConversationId,
  createdAt: Schema.DateTimeUtcFromDate,
  metadata: Schema.Record(Schema.String, Schema.String)
})
/** A conversation as its client sees it. */
export type ClientConversation = typeof ConversationRow.Type

type Metadata = ClientConversation["metadata"]

const ItemRow = Schema.Struct({ item: StoredItemSchema })
const PlaceRow = Schema.Struct({ turn: Schema.Int, side: Schema.Int, position: Schema.Int })

type Found<A> = Effect.Effect<A, ConversationNotFound | DatabaseUnavailable>
type FoundItem<A> = Effect.Effect<A, ConversationNotFound | ItemNotFound | DatabaseUnavailable>

/** Conversations that their clients create and look at, with the items of all their turns in order. */
export class ClientConversations extends Context.Service<
  ClientConversations,
  {
    readonly create: (
      userId: UserId,
      metadata: Metadata,
      systemMessage: string | null
    ) => Effect.Effect<ClientConversation, DatabaseUnavailable>
    readonly find: (userId: UserId, id: ConversationId) => Found<ClientConversation>
    readonly update: (userId: UserId, id: ConversationId, metadata: Metadata) => Found<ClientConversation>
    /**
     * With its turns, and the requests and events of their jobs. A request that adds one at the time fails.
     */
    readonly delete: (userId: UserId, id: ConversationId) => Found<void>
    readonly items: (
      userId: UserId,
      id: ConversationId,
      wanted: ItemsWanted
    ) => Effect.Effect<ItemsPage<StoredItem>, ConversationNotFound | CursorNotFound | DatabaseUnavailable>
    readonly item: (userId: UserId, id: ConversationId, itemId: ItemId) => FoundItem<StoredItem>
    /** Removes an item from the prompts of later answers, and from its response when that is shown. */
    readonly deleteItem: (userId: UserId, id: ConversationId, itemId: ItemId) => FoundItem<ClientConversation>
  }
>()("parley/conversations/ClientConversations") {
  static readonly layer = Layer.effect(
    ClientConversations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const items = yield* makeItems
      const deleteConversation = yield* makeDeleteConversation

      const create = Effect.fn("ClientConversations.create")(function* (
        userId: UserId,
        metadata: Metadata,
        systemMessage: string | null
      ) {
        const id = ConversationId.make(SecureRandom.uuidV7Unsafe())
        const created = yield* sql`INSERT INTO conversations (id, user_id, hidden, system_message, metadata)
          VALUES (${id}::uuid, ${userId}::uuid, false, ${systemMessage}, ${JSON.stringify(metadata)}::json)
          RETURNING id, created_at, metadata`.pipe(rowAs(ConversationRow))
        return created ?? (yield* Effect.die(new Error("A conversation was inserted and not returned.")))
      }, orUnavailable)

      const orNotFound = <A>(found: A | undefined) =>
        found === undefined
          ? Effect.fail(new ConversationNotFound({ param: "conversation_id" }))
          : Effect.succeed(found)

      const find = Effect.fn("ClientConversations.find")(
        (userId: UserId, id: ConversationId) =>
          sql`SELECT id, created_at, metadata FROM conversations
            WHERE id = ${id}::uuid AND user_id = ${userId}::uuid`.pipe(
            rowAs(ConversationRow),
            Effect.flatMap(orNotFound)
          ),
        orUnavailable
      )

      const update = Effect.fn("ClientConversations.update")(
        (userId: UserId, id: ConversationId, metadata: Metadata) =>
          sql`UPDATE conversations SET metadata = ${JSON.stringify(metadata)}::json, updated_at = now()
            WHERE id = ${id}::uuid AND user_id = ${userId}::uuid RETURNING id, created_at, metadata`.pipe(
            rowAs(ConversationRow),
            Effect.flatMap(orNotFound)
          ),
        orUnavailable
      )

      const remove = Effect.fn("ClientConversations.delete")(function* (userId: UserId, id: ConversationId) {
        if (!(yield* deleteConversation(userId, id))) {
          return yield* new ConversationNotFound({ param: "conversation_id" })
        }
      }, orUnavailable)

      return ClientConversations.of({
        create,
        find,
        update,
        delete: remove,
        items: Effect.fn("ClientConversations.items")(function* (userId, id, wanted) {
          yield* find(userId, id)
          return yield* items.page(id, wanted)
        }, orUnavailable),
        item: Effect.fn("ClientConversations.item")(function* (userId, id, itemId) {
          yield* find(userId, id)
          return yield* items.one(id, itemId)
        }, orUnavailable),
        deleteItem: Effect.fn("ClientConversations.deleteItem")(function* (userId, id, itemId) {
          const found = yield* find(userId, id)
          yield* items.delete(id, itemId)
          return found
        }, orUnavailable)
      })
    })
  )
}

/** The items of one conversation. */
const makeItems = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofConversation = (id: ConversationId) =>
    sql`turns JOIN items USING (response_id) WHERE conversation_id = ${id}::uuid`
  const side = sql`(side = 'output')::int`

  /** An item that was replayed has the same id more than once; the first one counts. */
  const placeOf = Effect.fnUntraced(function* (id: ConversationId, after: ItemId) {
    const found =
      yield* sql`SELECT turns.position AS turn, ${side} AS side, items.position FROM ${ofConversation(id)}
      AND items.id = ${after}::uuid ORDER BY 1, 2, 3 LIMIT 1`.pipe(rowAs(PlaceRow))
    return found ?? (yield* new CursorNotFound({ param: "after" }))
  })

  const page = Effect.fnUntraced(function* (id: ConversationId, { after, limit, order }: ItemsWanted) {
    const from = after === undefined ? null : yield* placeOf(id, after)
    const beyond =
      order === "asc"
        ? { comparison: sql.literal(">"), bound: sql.literal(">="), direction: sql.literal("ASC") }
        : { comparison: sql.literal("<"), bound: sql.literal("<="), direction: sql.literal("DESC") }
    const rest =
      from === null
        ? sql`true`
        : sql`turns.position ${beyond.bound} ${from.turn}::int AND (turns.position, ${side}, items.position)
            ${beyond.comparison} (${from.turn}::int, ${from.side}::int, ${from.position}::int)`
    const rows = yield* sql`SELECT item FROM ${ofConversation(id)} AND ${rest}
      ORDER BY turns.position ${beyond.direction}, ${side} ${beyond.direction}, items.position ${beyond.direction}
      LIMIT ${limit + 1}`.pipe(rowsAs(ItemRow))
    return itemsPage(
      rows.map(({ item }) => item),
      limit
    )
  })

  const one = Effect.fnUntraced(function* (id: ConversationId, itemId: ItemId) {
    const found =
      yield* sql`SELECT item FROM ${ofConversation(id)} AND items.id = ${itemId}::uuid LIMIT 1`.pipe(
        rowAs(ItemRow)
      )
    return (found ?? (yield* new ItemNotFound({ param: "item_id" }))).item
  })

  const remove = Effect.fnUntraced(function* (id: ConversationId, itemId: ItemId) {
    const deleted = yield* sql`WITH deleted AS (
        DELETE FROM items USING turns
        WHERE turns.response_id = items.response_id AND conversation_id = ${id}::uuid AND items.id = ${itemId}::uuid
        RETURNING items.id, items.response_id, item::text AS item
      ), forgotten AS (
        DELETE FROM images USING deleted
        WHERE images.response_id = deleted.response_id AND strpos(deleted.item, images.id::text) > 0
      )
      SELECT id FROM deleted`
    if (deleted.length === 0) return yield* new ItemNotFound({ param: "item_id" })
  })

  return { page, one, delete: remove }
})
