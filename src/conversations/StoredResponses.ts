import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { InputItem, OutputItem, TurnDetails } from "../domain/Conversation.ts"
import { CursorNotFound, type DatabaseUnavailable, ResponseNotFound } from "../domain/Errors.ts"
import { ConversationId, type ItemId, ResponseId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

const ResponseRow = Schema.Struct({
  responseId: ResponseId,
  conversationId: ConversationId,
  model: Schema.String,
  storedAt: Schema.DateTimeUtcFromDate,
  details: Schema.NullOr(TurnDetails),
  output: Schema.Array(OutputItem)
})
/** A response whose turn is stored. `details` is null for one of an earlier version. */
export type StoredResponse = typeof ResponseRow.Type

const ItemRow = Schema.Struct({ item: InputItem })
const PositionRow = Schema.Struct({ position: Schema.NullOr(Schema.Int) })
const ConversationRow = Schema.Struct({ conversationId: ConversationId })

/** A part of a list of items. */
export interface ItemsWanted {
  readonly limit: number
  readonly order: "asc" | "desc"
  /** The item before the first one; absent for the beginning. */
  readonly after?: ItemId
}

export interface ItemsPage<Item> {
  readonly items: ReadonlyArray<Item>
  readonly hasMore: boolean
}

/** One row more than the limit shows that there is another page. */
export const itemsPage = <Item>(rows: ReadonlyArray<Item>, limit: number): ItemsPage<Item> => ({
  items: rows.slice(0, limit),
  hasMore: rows.length > limit
})

/** The stored responses of a user, one by one. */
export class StoredResponses extends Context.Service<
  StoredResponses,
  {
    readonly find: (
      userId: UserId,
      id: ResponseId
    ) => Effect.Effect<StoredResponse, ResponseNotFound | DatabaseUnavailable>
    /**
     * A deleted response can't be found or continued. Its items stay as the context of other responses of its
     * conversation, and are deleted with the last of them that a client could continue.
     */
    readonly delete: (
      userId: UserId,
      id: ResponseId
    ) => Effect.Effect<void, ResponseNotFound | DatabaseUnavailable>
    /** Lists the input of the response. */
    readonly inputItems: (
      userId: UserId,
      id: ResponseId,
      wanted: ItemsWanted
    ) => Effect.Effect<ItemsPage<InputItem>, ResponseNotFound | CursorNotFound | DatabaseUnavailable>
  }
>()("parley/conversations/StoredResponses") {
  static readonly layer = Layer.effect(
    StoredResponses,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Turns without a model hold items that a client added to a conversation, and are no responses. */
      const isShown = sql`model <> '' AND deleted_at IS NULL`

      const find = Effect.fn("StoredResponses.find")(function* (userId: UserId, id: ResponseId) {
        const found =
          yield* sql`SELECT response_id, conversation_id, model, created_at AS stored_at, details, coalesce((
            SELECT json_agg(item ORDER BY items.position) FROM items
            WHERE items.response_id = turns.response_id AND side = 'output'), '[]') AS output
          FROM turns WHERE response_id = ${id}::uuid AND user_id = ${userId}::uuid AND ${isShown}`.pipe(
            rowAs(ResponseRow)
          )
        return found ?? (yield* new ResponseNotFound())
      }, orUnavailable)

      const remove = Effect.fn("StoredResponses.delete")(
        function* (userId: UserId, id: ResponseId) {
          const deleted = yield* sql`UPDATE turns SET deleted_at = now(), details = NULL
            WHERE response_id = ${id}::uuid AND user_id = ${userId}::uuid AND ${isShown}
            RETURNING conversation_id`.pipe(rowAs(ConversationRow))
          if (deleted === undefined) return yield* new ResponseNotFound()
          yield* sql`DELETE FROM conversations WHERE id = ${deleted.conversationId}::uuid AND hidden
            AND (lease_until IS NULL OR lease_until <= clock_timestamp())
            AND NOT EXISTS (
              SELECT FROM turns WHERE conversation_id = conversations.id AND deleted_at IS NULL
            )`
        },
        (effect) => orUnavailable(sql.withTransaction(effect))
      )

      const positionOf = Effect.fnUntraced(function* (id: ResponseId, after: ItemId) {
        const found = yield* sql`SELECT min(position) AS position FROM items
          WHERE response_id = ${id}::uuid AND side = 'input' AND id = ${after}::uuid`.pipe(rowAs(PositionRow))
        return found?.position ?? (yield* new CursorNotFound({ param: "after" }))
      })

      const inputItems = Effect.fn("StoredResponses.inputItems")(function* (
        userId: UserId,
        id: ResponseId,
        { after, limit, order }: ItemsWanted
      ) {
        yield* find(userId, id)
        const from = after === undefined ? null : yield* positionOf(id, after)
        const rest =
          order === "asc"
            ? sql`position > ${from ?? -1} ORDER BY position`
            : sql`position < ${from ?? Number.MAX_SAFE_INTEGER}::bigint ORDER BY position DESC`
        const rows = yield* sql`SELECT item FROM items
          WHERE response_id = ${id}::uuid AND side = 'input' AND ${rest} LIMIT ${limit + 1}`.pipe(
          rowsAs(ItemRow)
        )
        return itemsPage(
          rows.map(({ item }) => item),
          limit
        )
      }, orUnavailable)

      return StoredResponses.of({ find, delete: remove, inputItems })
    })
  )
}
