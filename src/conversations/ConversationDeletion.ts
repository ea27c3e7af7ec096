import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ConversationId, UserId } from "../domain/Ids.ts"

/**
 * Deletes a conversation of a user with its turns, and whatever has their text: the requests and the events of the jobs that made its
 * answers. Succeeds with whether there was one.
 */
export const makeDeleteConversation = Effect.map(SqlClient.SqlClient, (sql) => {
  const remove = (userId: UserId, id: ConversationId) => sql`WITH deleted AS (
        DELETE FROM conversations WHERE id = ${id}::uuid AND user_id = ${userId}::uuid RETURNING id
      ), jobs AS (
        DELETE FROM response_jobs USING deleted
        WHERE response_jobs.conversation_id = deleted.id AND response_jobs.user_id = ${userId}::uuid
      )
      SELECT id FROM deleted`
  return (userId: UserId, id: ConversationId) =>
    Effect.map(remove(userId, id), (deleted) => deleted.length > 0)
})
