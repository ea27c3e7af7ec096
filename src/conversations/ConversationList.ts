import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CursorNotFound } from "../domain/Errors.ts"
import type { ConversationId, UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import {
  type FoundConversation,
  listed,
  ListedRow,
  type ListWanted,
  makeListed,
  PlaceRow
} from "./ConversationRows.ts"
import { makeSearch, type SearchPage, wordsOf } from "./ConversationSearch.ts"

/** Lists the conversations of a user, and searches them. */
export const makeList = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { columns, from } = yield* makeListed
  const find = yield* makeSearch

  const placeOf = Effect.fnUntraced(function* (userId: UserId, after: ConversationId) {
    const found = yield* sql`SELECT id, updated_at::text FROM conversations
      WHERE id = ${after}::uuid AND user_id = ${userId}::uuid`.pipe(rowAs(PlaceRow))
    return found ?? (yield* new CursorNotFound({ param: "after" }))
  })

  return Effect.fn("ListedConversations.list")(function* (userId: UserId, wanted: ListWanted) {
    const { after, limit, search = "" } = wanted
    const place = after === undefined ? null : yield* placeOf(userId, after)
    if (wordsOf(search).length > 0) return yield* find(userId, wanted, search, place)
    const rows = yield* sql`SELECT ${columns} FROM ${from(userId, wanted, place)} LIMIT ${limit + 1}`.pipe(
      rowsAs(ListedRow)
    )
    const data: ReadonlyArray<FoundConversation> = rows.slice(0, limit).map(listed)
    return { data, hasMore: rows.length > limit, lastId: data.at(-1)?.id ?? null } satisfies SearchPage
  }, orUnavailable)
})
