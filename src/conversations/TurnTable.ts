import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  type ConversationState,
  FileSearchCall,
  InputItem,
  OutputItem,
  StoredItem
} from "../domain/Conversation.ts"
import { ConversationId, ItemId, ResponseId, type UserId } from "../domain/Ids.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** So that a conversation of tiny turns stays cheap to read. */
export const historyTurnsMax = 500

const TurnRow = Schema.Struct({
  position: Schema.Int,
  responseId: ResponseId,
  promptTokens: Schema.Int,
  input: Schema.Array(InputItem),
  output: Schema.Array(OutputItem)
})
const StateRow = Schema.Struct({
  conversationId: ConversationId,
  turnCount: Schema.Int,
  systemMessage: Schema.NullOr(Schema.String)
})
const ItemRow = Schema.Struct({ id: ItemId, item: Schema.NullOr(StoredItem) })
const ItemIdRow = Schema.Struct({ id: ItemId })
const SearchRow = Schema.Struct({ item: FileSearchCall })
const OwnerRow = Schema.Struct({ conversationId: ConversationId })
const PlaceRow = Schema.Struct({ ...StateRow.fields, position: Schema.Int })

/** The tables `turns` and `items`. */
export const makeTurnTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /**
   * The newest turns before `turn` whose tokens add up to at most `tokensMax`, oldest first. Positions have
   * no gaps, so the range bounds what is read to `historyTurnsMax` rows, whatever plan the database chooses.
   */
  const history = (turn: ConversationState, tokensMax: number) =>
    sql`SELECT position, response_id, prompt_tokens,
        ${itemsOf("input")} AS input, ${itemsOf("output")} AS output
      FROM (
        SELECT position, response_id, prompt_tokens, sum(prompt_tokens) OVER (ORDER BY position DESC) AS tokens
        FROM (
          SELECT position, response_id, prompt_tokens FROM turns
          WHERE conversation_id = ${turn.conversationId}::uuid
            AND position >= ${turn.turnCount - historyTurnsMax} AND position < ${turn.turnCount}
        ) AS newest
      ) AS counted
      WHERE tokens <= ${Math.floor(Math.min(tokensMax, Number.MAX_SAFE_INTEGER))}::bigint
      ORDER BY position`.pipe(rowsAs(TurnRow))

  const itemsOf = (side: "input" | "output") =>
    sql`coalesce((
      SELECT json_agg(item ORDER BY items.position) FROM items
      WHERE items.response_id = counted.response_id AND side = ${side}
    ), '[]')`

  /** The state of a conversation of this user. Reading it counts as a use, to the day. */
  const read = (userId: UserId, id: ConversationId) =>
    sql`WITH used AS (
        UPDATE conversations SET updated_at = now()
        WHERE id = ${id}::uuid AND user_id = ${userId}::uuid AND updated_at < now() - interval '1 day'
      )
      SELECT id AS conversation_id, turn_count, system_message FROM conversations
      WHERE id = ${id}::uuid AND user_id = ${userId}::uuid`.pipe(rowAs(StateRow))

  const conversationOf = (userId: UserId, responseId: ResponseId) =>
    sql`SELECT conversation_id FROM turns WHERE response_id = ${responseId}::uuid AND user_id = ${userId}::uuid AND deleted_at IS NULL`.pipe(
      rowAs(OwnerRow),
      Effect.map((row) => row?.conversationId)
    )

  /** The conversation up to a response, and whether that is its last one. */
  const upTo = (userId: UserId, responseId: ResponseId) =>
    sql`SELECT conversations.id AS conversation_id, turn_count, system_message, position
      FROM turns JOIN conversations ON conversations.id = conversation_id
      WHERE response_id = ${responseId}::uuid AND turns.user_id = ${userId}::uuid AND deleted_at IS NULL`.pipe(
      rowAs(PlaceRow),
      Effect.map((row) => {
        if (row === undefined) return undefined
        const { conversationId, position, systemMessage, turnCount } = row
        const state: ConversationState = { conversationId, systemMessage, turnCount: position + 1 }
        return { state, isLast: state.turnCount === turnCount }
      })
    )

  /** A search is always the first item of an answer. */
  const lastSearch = (turn: ConversationState) =>
    sql`SELECT item FROM turns JOIN items USING (response_id)
      WHERE conversation_id = ${turn.conversationId}::uuid
        AND turns.position >= ${turn.turnCount - historyTurnsMax} AND turns.position < ${turn.turnCount}
        AND side = 'output' AND items.position = 0
        AND item->>'type' = 'file_search_call' AND item->>'results' NOT IN ('[]', 'null')
      ORDER BY turns.position DESC LIMIT 1`.pipe(
      rowAs(SearchRow),
      Effect.map((row) => row?.item)
    )

  /**
   * This user's items with these ids; of an item that was replayed later, the first one. Undefined where all
   * of them together have more than `bytesMax`.
   */
  const items = (userId: UserId, ids: ReadonlyArray<ItemId>, bytesMax: number) =>
    sql`SELECT id, CASE WHEN bytes <= ${bytesMax}::bigint THEN item END AS item FROM (
        SELECT found.*, sum(octet_length(item::text)) OVER () AS bytes FROM (
          SELECT DISTINCT ON (id) id, item FROM items
          WHERE user_id = ${userId}::uuid AND id = ANY (${ids}::uuid[])
          ORDER BY id, side DESC
        ) AS found
      ) AS measured`.pipe(
      rowsAs(ItemRow),
      Effect.map((rows): ReadonlyMap<ItemId, StoredItem> | undefined => {
        const found = rows.flatMap(({ id, item }) => (item === null ? [] : [[id, item] as const]))
        return found.length < rows.length ? undefined : new Map(found)
      })
    )

  /**
   * Selects the given items that the conversation has before `turn`. A branch has copies with the same ids.
   */
  const known = (turn: ConversationState, ids: ReadonlyArray<ItemId>) =>
    sql`SELECT DISTINCT id FROM turns JOIN items USING (response_id)
      WHERE conversation_id = ${turn.conversationId}::uuid AND turns.position < ${turn.turnCount}
        AND id = ANY (${ids}::uuid[])`.pipe(
      rowsAs(ItemIdRow),
      Effect.map((rows): ReadonlySet<ItemId> => new Set(rows.map(({ id }) => id)))
    )

  return { read, history, conversationOf, upTo, lastSearch, items, known }
})
