import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { InputItem, OutputItem, TurnDetails } from "../domain/Conversation.ts"
import { beginningReadMax, titleOf } from "../domain/ConversationTitle.ts"
import { ConversationId, ProjectId, ResponseId, type UserId } from "../domain/Ids.ts"

/** The rows of conversations as their user sees them. */

export const ListedRow = Schema.Struct({
  id: ConversationId,
  title: Schema.NullOr(Schema.String),
  projectId: Schema.NullOr(ProjectId),
  hidden: Schema.Boolean,
  turnCount: Schema.Int,
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate,
  /** The first message, if there is no title. */
  beginning: Schema.NullOr(Schema.String)
})

/** A conversation of a list. */
export interface ListedConversation extends Omit<typeof ListedRow.Type, "beginning"> {}

/**
 * One that a search found: by its title, or by a message, of which `text` is a part. Absent without a search.
 */
export interface FoundConversation extends ListedConversation {
  readonly match?: { readonly responseId: ResponseId; readonly text: string } | null
}

export const listed = ({ beginning, title, ...row }: typeof ListedRow.Type): ListedConversation => ({
  ...row,
  title: title ?? (beginning === null ? null : titleOf(beginning))
})

/** A question that has no answer. */
export const Unanswered = Schema.Struct({
  responseId: ResponseId,
  /** Milliseconds since the epoch, by the clock of the database. */
  createdAt: Schema.Int,
  /** JSON that only the interface reads that asks. */
  input: Schema.Unknown,
  replaces: Schema.NullOr(ResponseId),
  /** The reason why there is no answer; null while the response is generated. */
  code: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String)
})
export type Unanswered = typeof Unanswered.Type

export const OpenedRow = Schema.Struct({
  ...ListedRow.fields,
  systemMessage: Schema.NullOr(Schema.String),
  unanswered: Schema.Array(Unanswered),
  running: Schema.NullOr(ResponseId)
})

export const ShownTurn = Schema.Struct({
  responseId: ResponseId,
  position: Schema.Int,
  model: Schema.String,
  createdAt: Schema.DateTimeUtcFromDate,
  details: Schema.NullOr(TurnDetails),
  input: Schema.Array(InputItem),
  output: Schema.Array(OutputItem)
})
/**
 * A turn as it is shown. `details` is null for one of an earlier version, and for items that a client added.
 */
export type ShownTurn = typeof ShownTurn.Type

export interface ShownTurns {
  /** Oldest first. */
  readonly turns: ReadonlyArray<ShownTurn>
  /** True if there are turns before these. */
  readonly hasMore: boolean
}

/** A conversation with its newest turns, or with those before one of them. */
export interface OpenedConversation extends ListedConversation, ShownTurns {
  readonly systemMessage: string | null
  /** Oldest first. */
  readonly unanswered: ReadonlyArray<Unanswered>
  /** The response that is being made in the web application. */
  readonly running: ResponseId | null
}

/** A part of a user's list. */
export interface ListWanted {
  readonly limit: number
  /** The conversation before the first one; absent for the beginning. */
  readonly after?: ConversationId
  /** True: lists the conversations that requests without a conversation created, in place of the others. */
  readonly hidden: boolean
  readonly projectId?: ProjectId
  /** Words that the title or one message has. */
  readonly search?: string
}

export const PlaceRow = Schema.Struct({ id: ConversationId, updatedAt: Schema.String })
/** The place at which a list continues. The time is text, which keeps the microseconds. */
export type ListPlace = typeof PlaceRow.Type

/** Columns of the table `turns` under the name `t`, as `ShownTurn` has them. */
export const makeTurnColumns = Effect.map(SqlClient.SqlClient, (sql) => {
  const itemsOf = (side: "input" | "output") => sql`coalesce((
    SELECT json_agg(item ORDER BY items.position) FROM items
    WHERE items.response_id = t.response_id AND side = ${side}), '[]')`
  return sql`t.response_id, t.position, t.model, t.created_at, t.details, ${itemsOf("input")} AS input, ${itemsOf("output")} AS output`
})

/** The table `conversations` under the name `c`. */
export const makeListed = Effect.map(SqlClient.SqlClient, (sql) => {
  const beginning = sql`CASE WHEN title IS NULL THEN (
      SELECT left(part ->> 'text', ${beginningReadMax}::int) FROM turns JOIN items USING (response_id),
        json_array_elements(CASE WHEN item ->> 'type' = 'message' THEN item -> 'content' END) AS part
      WHERE turns.conversation_id = c.id AND turns.position = 0 AND side = 'input' AND part ->> 'type' = 'input_text'
      ORDER BY items.position LIMIT 1
    ) END`

  // The row of a deleted project stays for a while.
  const project = sql`(SELECT p.id FROM projects p WHERE p.id = c.project_id AND p.deleted_at IS NULL)`

  /** The part behind FROM of a statement that reads the list from a place on, in its order. */
  const from = (userId: UserId, { hidden, projectId }: ListWanted, place: ListPlace | null) => {
    const beyond = hidden
      ? sql`c.id < ${place?.id ?? null}::uuid`
      : sql`(c.updated_at, c.id) < (${place?.updatedAt ?? null}::timestamptz, ${place?.id ?? null}::uuid)`
    return sql`conversations c
      WHERE c.user_id = ${userId}::uuid AND ${hidden ? sql`c.hidden` : sql`NOT c.hidden`}
        AND ${place === null ? sql`true` : beyond}
        AND ${projectId === undefined ? sql`true` : sql`c.project_id = ${projectId}::uuid`}
      ORDER BY ${hidden ? sql`c.id DESC` : sql`c.updated_at DESC, c.id DESC`}`
  }

  return {
    columns: sql`c.id, title, ${project} AS project_id, hidden, turn_count, c.created_at, c.updated_at, ${beginning} AS beginning`,
    from,
    running: sql`(SELECT response_id FROM response_jobs j WHERE j.conversation_id = c.id AND kind = 'question' AND ended_at IS NULL LIMIT 1)`
  }
})
