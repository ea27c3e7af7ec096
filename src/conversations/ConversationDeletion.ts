import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { ConversationId, UserId } from "../domain/Ids.ts"

/**
 * Deletes a conversation of a user with its turns, and whatever has their text: the requests and the events
 * of the jobs that made its answers. Succeeds with whether there was one.
 */
export const makeDeleteConversation = Effect.map(SqlClient.SqlClient, (sql) => {
  const remove = (userId: UserId, id: ConversationId) => sql`WITH owned AS (
        SELECT id FROM conversations WHERE id = ${id}::uuid AND user_id = ${userId}::uuid
      ), jobs AS (
        DELETE FROM response_jobs USING owned WHERE response_jobs.conversation_id = owned.id RETURNING response_id
      )
      -- After the jobs, since the end of a job locks both in this order.
      DELETE FROM conversations USING owned WHERE conversations.id = owned.id AND (SELECT count(*) FROM jobs) >= 0
      RETURNING conversations.id`
  return (userId: UserId, id: ConversationId) =>
    Effect.map(remove(userId, id), (deleted) => deleted.length > 0)
})
