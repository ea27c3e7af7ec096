import { Effect, flow, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import {
  type ConversationState,
  type InputItem,
  type OpenTurn,
  type OutputItem,
  type StoredImage,
  type TurnDetails,
  withoutPassages
} from "../domain/Conversation.ts"
import type { ConversationId, ResponseId, UserId } from "../domain/Ids.ts"
import { type Placeholder, prepared } from "../sql/prepared.ts"
import { makeImageWrites } from "./ImageTable.ts"
import { makeUnansweredParts } from "./QuestionWrites.ts"
import { historyTurnsMax } from "./TurnTable.ts"

export interface CommitTurn {
  readonly responseId: ResponseId
  readonly model: string
  readonly input: ReadonlyArray<InputItem>
  readonly output: ReadonlyArray<OutputItem>
  /** Kept only when the conversation has no turn yet. */
  readonly systemMessage: string | null
  readonly promptTokens: number
  readonly details: TurnDetails | null
  /** Images that the items of the input name. */
  readonly images?: ReadonlyArray<StoredImage>
}

/** A turn that begins a conversation of its own, with copies of the turns of another one. */
export interface Branch {
  readonly userId: UserId
  /** The turns that are copied: those of this conversation before `turnCount`. */
  readonly source: ConversationState
  readonly conversationId: ConversationId
}

/** Tokens of the turns that a branch copies: more than any model's context has. */
const branchTokensMax = 4_000_000

const Outcome = Schema.Tuple([Schema.Struct({ stored: Schema.Boolean })])

const detailsOf = ({ details }: CommitTurn) => (details === null ? null : JSON.stringify(details))

const decodeOutcome = flow(
  Effect.flatMap(Schema.decodeUnknownEffect(Outcome)),
  Effect.map(([row]: typeof Outcome.Type) => row.stored)
)

/** The items of a turn in columns. */
const itemColumns = ({ input, output }: CommitTurn) => {
  const items = [...input, ...output]
  return {
    sides: items.map((_item, at) => (at < input.length ? "input" : "output")),
    positions: items.map((_item, at) => (at < input.length ? at : at - input.length)),
    ids: items.map(({ id }) => id),
    items: items.map((item) => JSON.stringify(withoutPassages(item)))
  }
}

/** The parameters of the statement that stores a turn. */
const parametersOf = (turn: OpenTurn, content: CommitTurn) => ({
  conversationId: turn.conversationId,
  fence: turn.fence,
  turnCount: turn.turnCount,
  responseId: content.responseId,
  systemMessage: content.systemMessage,
  model: content.model,
  promptTokens: content.promptTokens,
  details: detailsOf(content),
  ...itemColumns(content)
})
type Parameters = ReturnType<typeof parametersOf>

/** The value of a parameter of a statement, or its placeholder. */
type Value = unknown

/** The parts that the statements have. */
const makeParts = Effect.map(SqlClient.SqlClient, (sql) => {
  /** Writes the items of a turn for the user that the row of `owner` names. */
  const insertItems = (
    responseId: Value,
    { ids, items, positions, sides }: Record<keyof ReturnType<typeof itemColumns>, Value>,
    owner: string
  ) =>
    sql`INSERT INTO items (response_id, side, position, id, user_id, item)
        SELECT ${responseId}::uuid, item.side, item.position, item.id, ${sql(owner)}.user_id, item.item::json
        FROM ${sql(owner)}, unnest(${sides}::text[], ${positions}::int[], ${ids}::uuid[], ${items}::text[])
          AS item (side, position, id, item)`

  const outcome = (responseId: Value, id: Value, changed: string) =>
    sql`SELECT EXISTS (SELECT FROM ${sql(changed)}) OR EXISTS (
        SELECT FROM turns WHERE response_id = ${responseId}::uuid AND conversation_id = ${id}::uuid
      ) AS stored`

  return { insertItems, outcome }
})

/** Stores turns in the tables `turns` and `items`. */
export const makeTurnWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { insertItems, outcome } = yield* makeParts
  const images = yield* makeImageWrites
  const unanswered = yield* makeUnansweredParts

  const writeTurn = (
    value: <Name extends keyof Parameters>(name: Name) => Parameters[Name] | Placeholder,
    pictured: Statement.Fragment
  ) =>
    sql`WITH held AS (
        UPDATE conversations SET
          turn_count = turn_count + 1,
          system_message = CASE WHEN turn_count = 0 THEN ${value("systemMessage")}::text ELSE system_message END,
          lease_until = NULL,
          lease_fence = lease_fence + 1,
          updated_at = now(),
          unanswered = ${unanswered.without(value("responseId"))}
        WHERE id = ${value("conversationId")}::uuid AND lease_fence = ${value("fence")} AND turn_count = ${value("turnCount")}
        RETURNING id, user_id
      ), turn AS (
        INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens, details)
        SELECT ${value("responseId")}::uuid, id, user_id, ${value("turnCount")}::int, ${value("model")}, ${value("promptTokens")}::int,
          ${value("details")}::json
        FROM held
      ), written AS (
        ${insertItems(
          value("responseId"),
          { sides: value("sides"), positions: value("positions"), ids: value("ids"), items: value("items") },
          "held"
        )}
      )${pictured}
      ${outcome(value("responseId"), value("conversationId"), "held")}`
  const writePreparedTurn = prepared<Parameters>(sql, (parameter) => writeTurn(parameter, sql.literal("")))

  /**
   * Stores the turn and releases its lease in one statement, if the fence and the position are still
   * `turn`'s. True also when the same turn was stored before, so that it can be repeated after a lost answer.
   */
  const commit = (turn: OpenTurn, content: CommitTurn) => {
    const parameters = parametersOf(turn, content)
    const written =
      content.images === undefined || content.images.length === 0
        ? writePreparedTurn(parameters)
        : writeTurn((name) => parameters[name], images.insert(content, "held"))
    return decodeOutcome(written)
  }

  /** Like `commit`, in the place of the last turn, if that is still the one of the response. */
  const commitReplacing = (turn: OpenTurn, replaced: ResponseId, content: CommitTurn) =>
    sql`WITH held AS (
        UPDATE conversations SET lease_until = NULL, lease_fence = lease_fence + 1, updated_at = now(),
          unanswered = ${unanswered.without(content.responseId)}
        WHERE id = ${turn.conversationId}::uuid AND lease_fence = ${turn.fence} AND turn_count = ${turn.turnCount}
          AND EXISTS (
            SELECT FROM turns WHERE response_id = ${replaced}::uuid AND conversation_id = conversations.id
              AND position = ${turn.turnCount - 1}::int
          )
        RETURNING id, user_id
      ), removed AS (
        DELETE FROM turns USING held WHERE response_id = ${replaced}::uuid RETURNING held.id
      ), turn AS (
        INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens, details)
        SELECT ${content.responseId}::uuid, id, user_id, ${turn.turnCount - 1}::int, ${content.model}, ${content.promptTokens}::int,
          ${detailsOf(content)}::json
        -- The place is free once the other turn has gone.
        FROM removed JOIN held USING (id)
      ), written AS (
        ${insertItems(content.responseId, itemColumns(content), "held")}
      )${images.insert(content, "held")}
      ${outcome(content.responseId, turn.conversationId, "held")}`.pipe(decodeOutcome)

  /**
   * Stores a new conversation in one statement: copies of the newest turns of another one, by ids that name
   * no response, and after them the turn. Can be repeated like `commit`; false if the other conversation was
   * deleted.
   */
  const commitBranch = ({ conversationId, source, userId }: Branch, content: CommitTurn) =>
    sql`WITH copied AS MATERIALIZED (
        SELECT response_id, gen_random_uuid() AS copy_id, model, prompt_tokens, created_at,
          (row_number() OVER (ORDER BY position) - 1)::int AS place
        FROM (
          SELECT *, sum(prompt_tokens) OVER (ORDER BY position DESC) AS tokens FROM turns
          WHERE conversation_id = ${source.conversationId}::uuid AND user_id = ${userId}::uuid
            AND position >= ${source.turnCount - historyTurnsMax} AND position < ${source.turnCount}
        ) AS newest
        WHERE tokens <= ${branchTokensMax}::bigint
      ), created AS (
        INSERT INTO conversations (id, user_id, hidden, system_message, turn_count)
        SELECT ${conversationId}::uuid, user_id, true, system_message, 1 + (SELECT count(*) FROM copied)
        FROM conversations WHERE id = ${source.conversationId}::uuid AND user_id = ${userId}::uuid
        ON CONFLICT (id) DO NOTHING RETURNING id, user_id, turn_count
      ), copies AS (
        INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens, created_at, deleted_at)
        SELECT copy_id, created.id, created.user_id, place, model, prompt_tokens, created_at, now() FROM copied, created
      ), copied_items AS (
        INSERT INTO items (response_id, side, position, id, user_id, item)
        SELECT copy_id, side, items.position, items.id, created.user_id, item
        FROM created, copied JOIN items USING (response_id)
      ), copied_images AS (
        INSERT INTO images (response_id, id, user_id, media_type, bytes, created_at)
        SELECT copy_id, images.id, created.user_id, media_type, bytes, images.created_at
        FROM created, copied JOIN images USING (response_id)
      ), turn AS (
        INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens, details)
        SELECT ${content.responseId}::uuid, id, user_id, turn_count - 1, ${content.model}, ${content.promptTokens}::int,
          ${detailsOf(content)}::json
        FROM created
      ), written AS (
        ${insertItems(content.responseId, itemColumns(content), "created")}
      )${images.insert(content, "created")}
      ${outcome(content.responseId, conversationId, "created")}`.pipe(decodeOutcome)

  return { commit, commitReplacing, commitBranch }
})
