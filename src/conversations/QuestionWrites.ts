import { Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { AnswerInProgress, ConversationNotFound, InvalidRequest, ResponseNotLast } from "../domain/Errors.ts"
import { ConversationId, ProjectId, ResponseId, type UserId } from "../domain/Ids.ts"
import type { Placeholder } from "../sql/prepared.ts"
import { rowAs } from "../sql/rows.ts"
import type { Unanswered } from "./ConversationRows.ts"

/** The request of a job of a question, as its row keeps it. */
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
  /** The response of the question without an answer that is asked again. */
  readonly again: ResponseId | null
}

/** Questions without an answer that a conversation keeps. Each is as long as a message may be. */
const unansweredMax = 20

const StateRow = Schema.Struct({
  projectId: Schema.NullOr(ProjectId),
  last: Schema.NullOr(ResponseId),
  isRunning: Schema.Boolean,
  others: Schema.Int
})

/** Parts of statements about the questions without an answer of a row of `conversations`. */
export const makeUnansweredParts = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** True if the question of a response is among them. */
  has: (responseId: Statement.Fragment) => sql`EXISTS (
      SELECT FROM json_array_elements(unanswered) AS question
      WHERE question ->> 'responseId' = ${responseId}::text
    )`,
  /** All but that of a response; null if there is no other. */
  without: (responseId: ResponseId | Placeholder | null) =>
    sql`(SELECT json_agg(question ORDER BY place)
      FROM json_array_elements(unanswered) WITH ORDINALITY AS kept (question, place)
      WHERE question ->> 'responseId' IS DISTINCT FROM ${responseId}::text)`
}))

/** Questions in the table `conversations`, until they have an answer. */
export const makeQuestionWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { has, without } = yield* makeUnansweredParts

  /**
   * Keeps the question with its conversation, which is listed from then on. Within a transaction that keeps
   * the user's other questions out.
   */
  const keep = Effect.fnUntraced(function* (
    userId: UserId,
    responseId: ResponseId,
    { again, conversationId, input, replaces, title }: NewQuestion
  ) {
    const found = yield* sql`SELECT
        (SELECT p.id FROM projects p WHERE p.id = c.project_id AND p.deleted_at IS NULL) AS project_id,
        (SELECT response_id FROM turns WHERE conversation_id = c.id AND position = c.turn_count - 1) AS last,
        EXISTS (
          SELECT FROM response_jobs WHERE conversation_id = c.id AND kind = 'question' AND ended_at IS NULL
        ) AS is_running,
        coalesce(json_array_length(${without(again)}), 0) AS others
      FROM conversations c WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid`.pipe(
      rowAs(StateRow)
    )
    if (found === undefined) return yield* new ConversationNotFound({ param: "conversation_id" })
    if (found.isRunning) return yield* new AnswerInProgress()
    if (replaces !== null && found.last !== replaces) return yield* new ResponseNotLast()
    if (found.others >= unansweredMax) return yield* tooManyUnanswered
    const question: Omit<Unanswered, "createdAt"> = { responseId, input, replaces, code: null, message: null }
    yield* sql`UPDATE conversations SET
        unanswered = (coalesce(${without(again)}::jsonb, '[]') || (
          ${JSON.stringify(question)}::jsonb
            || jsonb_build_object('createdAt', (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        ))::json,
        title = coalesce(title, ${title}::text),
        hidden = false, updated_at = now()
      WHERE id = ${conversationId}::uuid`
    return { conversationId, projectId: found.projectId, replaces, input } satisfies QuestionRequest
  })

  /**
   * The part of a statement that says why a question has no answer, if the row of `ended` is the job of one.
   */
  const explain = (failure: { readonly code: string; readonly message: string }, ended: string) =>
    sql`UPDATE conversations SET unanswered = (
        SELECT json_agg(
          CASE WHEN question ->> 'responseId' = ${sql(ended)}.response_id::text
            THEN question::jsonb || jsonb_build_object('code', ${failure.code}::text, 'message', ${failure.message}::text)
            ELSE question::jsonb
          END ORDER BY place
        )
        FROM json_array_elements(unanswered) WITH ORDINALITY AS kept (question, place)
      )
      FROM ${sql(ended)} WHERE conversations.id = ${sql(ended)}.conversation_id AND ${has(sql`${sql(ended)}.response_id`)}`

  return { keep, explain }
})

const tooManyUnanswered = new InvalidRequest({
  param: "input",
  message: `This conversation has ${unansweredMax} questions without an answer: send one of them again, or discard some, and then ask.`
})
