import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ConversationState, FunctionCall } from "../domain/Conversation.ts"
import { rowsAs } from "../sql/rows.ts"
import { historyTurnsMax } from "./TurnTable.ts"

const FunctionRow = Schema.Struct({ item: FunctionCall })

/**
 * Finds calls of the client's functions in the turns that a history may have: of each call id the last one.
 */
export const makeFindCalls = Effect.map(
  SqlClient.SqlClient,
  (sql) => (turn: ConversationState, callIds: ReadonlyArray<string>) =>
    sql`SELECT DISTINCT ON (item->>'call_id') item FROM turns JOIN items USING (response_id)
      WHERE conversation_id = ${turn.conversationId}::uuid
        AND turns.position >= ${turn.turnCount - historyTurnsMax} AND turns.position < ${turn.turnCount}
        AND item->>'type' = 'function_call' AND item->>'call_id' = ANY (${callIds}::text[])
      ORDER BY item->>'call_id', turns.position DESC, side DESC, items.position DESC`.pipe(
      rowsAs(FunctionRow),
      Effect.map((rows): ReadonlyArray<FunctionCall> => rows.map(({ item }) => item))
    )
)
