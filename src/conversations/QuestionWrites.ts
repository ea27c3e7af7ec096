import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AnswerInProgress, ConversationNotFound, ResponseNotLast } from "../domain/Errors.ts"
import { ConversationId, ProjectId, ResponseId, type UserId } from "../domain/Ids.ts"
import { rowAs } from "../sql/rows.ts"
import type { Unanswered } from "./ConversationRows.ts"

/** What a job of a question was asked, as its row keeps it. */
export const QuestionRequest = Schema.Struct({
  conversationId: ConversationId,
  projectId: Schema.NullOr(ProjectId),
  /** The last response, whose turn is replaced. */
  replaces: Schema.NullOr(ResponseId),
  /** JSON that only the interface reads that asks. */
  input: Schema.Unknown
})
export type QuestionRequest = typeof QuestionRequest.Type

export interface NewQuestion extends Omit<QuestionRequest, "projectId"> {
  /** The conversation's title, if it has none. */
  readonly title: string | null
}

const StateRow = Schema.Struct({
  projectId: Schema.NullOr(ProjectId),
  last: Schema.NullOr(ResponseId),
  isRunning: Schema.Boolean
})

/** Questions in the table `conversations`, until they have an answer. */
export const makeQuestionWrites = Effect.map(SqlClient.SqlClient, (sql) => {
  /**
   * Keeps the question with its conversation, which is listed from then on. Within a transaction that keeps the user's other questions
   * out.
   */
  const keep = Effect.fnUntraced(function* (
    userId: UserId,
    responseId: ResponseId,
    { conversationId, input, replaces, title }: NewQuestion
  ) {
    const found = yield* sql`SELECT
        (SELECT p.id FROM projects p WHERE p.id = c.project_id AND p.deleted_at IS NULL) AS project_id,
        (SELECT response_id FROM turns WHERE conversation_id = c.id AND position = c.turn_count - 1) AS last,
        EXISTS (
          SELECT FROM response_jobs WHERE conversation_id = c.id AND kind = 'question' AND ended_at IS NULL
        ) AS is_running
      FROM conversations c WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid`.pipe(
      rowAs(StateRow)
    )
    if (found === undefined) return yield* new ConversationNotFound({ param: "conversation_id" })
    if (found.isRunning) return yield* new AnswerInProgress()
    if (replaces !== null && found.last !== replaces) return yield* new ResponseNotLast()
    const unanswered: Unanswered = { responseId, input, replaces, code: null, message: null }
    yield* sql`UPDATE conversations SET unanswered = ${JSON.stringify(unanswered)}::json, title = coalesce(title, ${title}::text),
        hidden = false, updated_at = now()
      WHERE id = ${conversationId}::uuid`
    return { conversationId, projectId: found.projectId, replaces, input } satisfies QuestionRequest
  })

  /** The part of a statement that says why a question has no answer, if the row of `ended` is the job of one. */
  const explain = (failure: { readonly code: string; readonly message: string }, ended: string) =>
    sql`UPDATE conversations SET unanswered = (
        unanswered::jsonb || jsonb_build_object('code', ${failure.code}::text, 'message', ${failure.message}::text)
      )::json
      FROM ${sql(ended)} WHERE conversations.id = ${sql(ended)}.conversation_id
        AND conversations.unanswered ->> 'responseId' = ${sql(ended)}.response_id::text`

  return { keep, explain }
})
