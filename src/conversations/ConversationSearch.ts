import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationId, ResponseId, type UserId } from "../domain/Ids.ts"
import { monotonicMillis } from "../runtime/Monotonic.ts"
import { rowsAs } from "../sql/rows.ts"
import {
  type FoundConversation,
  listed,
  ListedRow,
  type ListPlace,
  type ListWanted,
  makeListed
} from "./ConversationRows.ts"
import { historyTurnsMax } from "./TurnTable.ts"

/** Conversations whose messages one statement looks through. */
const conversationsPerStep = 250
/** After this time a page has only the matches found so far, and the next page continues from there. */
const searchMillis = 1_000
/** Characters of a message around the first word. */
const shown = { before: 60, all: 200 }

const StepRow = Schema.Struct({
  id: ConversationId,
  updatedAt: Schema.String,
  isTitled: Schema.Boolean,
  responseId: Schema.NullOr(ResponseId),
  text: Schema.NullOr(Schema.String)
})
type StepRow = typeof StepRow.Type

const isFound = ({ isTitled, responseId }: StepRow): boolean => isTitled || responseId !== null

const patternOf = (text: string): string => `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`
/** Returns the text as stored JSON has it. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

export const wordsOf = (search: string): ReadonlyArray<string> => [
  ...new Set(search.split(/\s+/u).filter((word) => word !== ""))
]

export interface SearchPage {
  readonly data: ReadonlyArray<FoundConversation>
  readonly hasMore: boolean
  /** The last conversation that was looked at. */
  readonly lastId: ConversationId | null
}

/**
 * Finds the conversations that have all words in their title or in one message, whatever the case. Messages
 * have no index of their own, so that storing one costs nothing; the statements go along the list's index, as
 * far as the time allows.
 */
export const makeSearch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { columns, from } = yield* makeListed

  const step = (
    userId: UserId,
    wanted: ListWanted,
    words: ReadonlyArray<string>,
    place: ListPlace | null
  ) => {
    const all = sql`ILIKE ALL (${words.map(patternOf)}::text[])`
    return sql`WITH step AS MATERIALIZED (
        SELECT c.id, c.updated_at, c.title, c.turn_count FROM ${from(userId, wanted, place)} LIMIT ${conversationsPerStep}
      )
      SELECT c.id, c.updated_at::text, coalesce(c.title ${all}, false) AS is_titled, found.response_id,
        substr(found.text, greatest(1, strpos(lower(found.text), lower(${words[0] ?? ""})) - ${shown.before}::int), ${shown.all}::int) AS text
      FROM step c LEFT JOIN LATERAL (
        SELECT turns.response_id, part ->> 'text' AS text
        FROM turns JOIN items USING (response_id), json_array_elements(item -> 'content') AS part
        WHERE turns.conversation_id = c.id AND turns.position >= c.turn_count - ${historyTurnsMax}
          AND item::text ILIKE ALL (${words.map((word) => patternOf(inJson(word)))}::text[])
          AND item ->> 'type' = 'message' AND part ->> 'text' ${all}
        ORDER BY turns.position DESC, side DESC LIMIT 1
      ) AS found ON true
      ORDER BY ${wanted.hidden ? sql`c.id DESC` : sql`c.updated_at DESC, c.id DESC`}`.pipe(rowsAs(StepRow))
  }

  const collect = Effect.fnUntraced(function* (
    userId: UserId,
    wanted: ListWanted,
    words: ReadonlyArray<string>,
    begin: ListPlace | null
  ) {
    const startedAt = yield* monotonicMillis
    const found: Array<StepRow> = []
    let place = begin
    while (true) {
      const rows = yield* step(userId, wanted, words, place)
      const left = wanted.limit - found.length
      found.push(...rows.filter(isFound).slice(0, left))
      const isFull = found.length === wanted.limit
      const last = isFull ? found.at(-1) : rows.at(-1)
      const hasMore = rows.length === conversationsPerStep || last !== rows.at(-1)
      place = last ?? place
      if (isFull || !hasMore || (yield* monotonicMillis) - startedAt >= searchMillis) {
        return { found, hasMore, lastId: place?.id ?? null }
      }
    }
  })

  return Effect.fnUntraced(function* (
    userId: UserId,
    wanted: ListWanted,
    search: string,
    begin: ListPlace | null
  ) {
    const { found, hasMore, lastId } = yield* collect(userId, wanted, wordsOf(search), begin)
    const ids = found.map(({ id }) => id)
    const rows = yield* sql`SELECT ${columns} FROM conversations c
      WHERE c.user_id = ${userId}::uuid AND c.id = ANY (${ids}::uuid[])`.pipe(rowsAs(ListedRow))
    const byId = new Map(rows.map((row) => [row.id, listed(row)]))
    const data = found.flatMap(({ id, isTitled, responseId, text }): ReadonlyArray<FoundConversation> => {
      const conversation = byId.get(id)
      // The conversation may have been deleted meanwhile.
      if (conversation === undefined) return []
      const match = isTitled || responseId === null ? null : { responseId, text: text ?? "" }
      return [{ ...conversation, match }]
    })
    return { data, hasMore, lastId } satisfies SearchPage
  })
})
