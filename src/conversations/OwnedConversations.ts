import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import type { User } from "../domain/Account.ts"
import { within } from "../domain/AuditEntry.ts"
import { ConversationNotFound } from "../domain/Errors.ts"
import { ConversationId, ProjectId, type UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstId, pageOf, pageRowsAsked } from "../sql/Paging.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import { makeDeleteConversation } from "./ConversationDeletion.ts"
import { makeTurnColumns, ShownTurn } from "./ConversationRows.ts"
import { makeStoredImages } from "./ImageTable.ts"

/** Conversations that one statement deletes with their turns. */
const conversationsPerStepMax = 50
/** Turns that one statement deletes, except that its first conversation is deleted whole. */
const turnsPerStepMax = 1_000
/** Turns of one page. */
const turnsPageRows = 50

const ConversationRow = Schema.Struct({
  id: ConversationId,
  turns: Schema.Int,
  systemMessage: Schema.NullOr(Schema.String),
  metadata: Schema.Unknown,
  title: Schema.NullOr(Schema.String),
  projectId: Schema.NullOr(ProjectId),
  hidden: Schema.Boolean,
  /** The questions that have no answer; null if there is none. */
  unanswered: Schema.Unknown,
  createdAt: Schema.DateTimeUtcFromDate,
  updatedAt: Schema.DateTimeUtcFromDate
})
export type OwnedConversation = typeof ConversationRow.Type

/** Reads the conversations of a user for operators, exports and erases them. */
export const makeOwnedConversations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const deleteConversation = yield* makeDeleteConversation
  const turnColumns = yield* makeTurnColumns
  const columns = sql.literal(
    "id, turn_count AS turns, system_message, metadata, title, project_id, hidden, unanswered, created_at, updated_at"
  )

  const listOf = Effect.fn("Conversations.listOf")(function* (
    userId: UserId,
    after = ConversationId.make(firstId)
  ) {
    const rows = yield* sql`
      SELECT ${columns} FROM conversations
      WHERE user_id = ${userId} AND id > ${after} ORDER BY id LIMIT ${pageRowsAsked}`.pipe(
      rowsAs(ConversationRow)
    )
    return pageOf(rows)
  }, orUnavailable)

  const find = Effect.fnUntraced(function* (userId: UserId, id: ConversationId) {
    const found = yield* sql`
      SELECT ${columns} FROM conversations WHERE id = ${id} AND user_id = ${userId}`.pipe(
      rowAs(ConversationRow)
    )
    return found ?? (yield* new ConversationNotFound({ param: "conversation_id" }))
  })

  const turnsOf = Effect.fn("Conversations.turnsOf")(
    (id: ConversationId, from: number) =>
      sql`
        SELECT ${turnColumns} FROM turns t WHERE t.conversation_id = ${id} AND t.position >= ${from}
        ORDER BY t.position LIMIT ${turnsPageRows}`.pipe(rowsAs(ShownTurn)),
    orUnavailable
  )

  const about = (user: User, id: ConversationId) => ({
    target: { id, name: user.email },
    organization: within(user)
  })

  const readOf = Effect.fn("Conversations.readOf")(
    function* (user: User, id: ConversationId, from: number) {
      const conversation = yield* find(user.id, id)
      yield* audit.record({ action: "conversation.read", ...about(user, id), details: { from } })
      const turns = yield* turnsOf(id, from)
      return { conversation, turns }
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  const deleteOf = Effect.fn("Conversations.deleteOf")(
    function* (user: User, id: ConversationId) {
      const { turns } = yield* find(user.id, id)
      yield* deleteConversation(user.id, id)
      yield* audit.record({ action: "conversation.delete", ...about(user, id), details: { turns } })
    },
    (effect) => orUnavailable(sql.withTransaction(effect))
  )

  /** A request that adds a turn at the time fails. */
  const eraseSome = Effect.fn("Conversations.eraseSome")(function* (userId: UserId) {
    const deleted = yield* sql`WITH batch AS (
        SELECT id, turn_count FROM conversations WHERE user_id = ${userId}
        ORDER BY id LIMIT ${conversationsPerStepMax} FOR UPDATE SKIP LOCKED
      ), counted AS (
        SELECT id, sum(turn_count) OVER (ORDER BY id) - turn_count AS turns_before FROM batch
      )
      DELETE FROM conversations USING counted
      WHERE conversations.id = counted.id AND turns_before < ${turnsPerStepMax} RETURNING conversations.id`
    return deleted.length
  }, orUnavailable)

  return { listOf, turnsOf, readOf, deleteOf, eraseSome, ...(yield* makeStoredImages) }
})
