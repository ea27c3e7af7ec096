import { Schema } from "effect"
import { IncompleteReason } from "../domain/Conversation.ts"
import { ConversationId, ProjectId, ResponseId } from "../domain/Ids.ts"
import { ResponseUsage } from "./ResponseObject.ts"
import { ShownInputItem, ShownOutputItem } from "./ShownItem.ts"

/** Conversations as their user sees them. They are an addition to the specification. */

/** Unix epoch in milliseconds. */
const Time = Schema.Int

const conversationFields = {
  id: ConversationId,
  object: Schema.Literal("conversation"),
  /** The given one, or else the beginning of the first message; null while there is none. */
  title: Schema.NullOr(Schema.String),
  /** Whose files are searched for the questions that are asked in the web application. */
  project_id: Schema.NullOr(ProjectId),
  /** True for one that a request without a conversation created: it isn't listed, and ends by its age. */
  hidden: Schema.Boolean,
  turn_count: Schema.Int,
  created_at: Time,
  /** When it was last used. */
  updated_at: Time
}

/** A part of the text of one turn in which a search found its words, if not in the title. */
const ConversationMatch = Schema.Struct({
  response_id: ResponseId,
  text: Schema.String
}).annotate({ identifier: "ConversationMatch" })

export const ConversationObject = Schema.Struct({
  ...conversationFields,
  /** Only in the results of a search; null where the title has all of its words. */
  match: Schema.optionalKey(Schema.NullOr(ConversationMatch))
}).annotate({
  identifier: "Conversation",
  description: "What is known of a conversation, without its turns."
})
export type ConversationObject = typeof ConversationObject.Type

/** One page. The next page takes `last_id` as `after`; after a search that need not be the id of a result. */
export const ConversationList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ConversationObject),
  has_more: Schema.Boolean,
  first_id: Schema.NullOr(ConversationId),
  last_id: Schema.NullOr(ConversationId)
}).annotate({ identifier: "ConversationList", description: "A page of the caller's conversations." })
export type ConversationList = typeof ConversationList.Type

/** A question and its answer. */
export const ConversationTurn = Schema.Struct({
  /** The id of the response. */
  id: ResponseId,
  object: Schema.Literal("conversation.turn"),
  /** When the answer was begun, and when it was complete. */
  created_at: Time,
  completed_at: Time,
  /** The model that answered; empty for items that a client added without asking for an answer. */
  model: Schema.String,
  input: Schema.Array(ShownInputItem),
  output: Schema.Array(ShownOutputItem),
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: IncompleteReason })),
  usage: Schema.NullOr(ResponseUsage)
}).annotate({ identifier: "ConversationTurn" })
export type ConversationTurn = typeof ConversationTurn.Type

/** Oldest first. Turns before these take `first_id` as `before`. */
const TurnList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(ConversationTurn),
  has_more: Schema.Boolean,
  first_id: Schema.NullOr(ResponseId),
  last_id: Schema.NullOr(ResponseId)
}).annotate({ identifier: "ConversationTurnList" })

const QuestionPart = Schema.Struct({ type: Schema.String })

/**
 * A question without an answer: it is being answered, or its answer failed or was stopped. For models it
 * never was.
 */
export const UnansweredQuestion = Schema.Struct({
  /** The response that was to answer it. */
  response_id: ResponseId,
  created_at: Time,
  /** The question as it was sent: a text, or a list of parts. */
  input: Schema.Union([
    Schema.String,
    Schema.Array(Schema.StructWithRest(QuestionPart, [Schema.Record(Schema.String, Schema.Unknown)]))
  ]),
  /** The response whose turn the answer was to replace; null if it was to follow the last turn. */
  replaces: Schema.NullOr(ResponseId),
  /** Why there is no answer; null while it is being made. */
  code: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String)
}).annotate({ identifier: "UnansweredQuestion" })
export type UnansweredQuestion = typeof UnansweredQuestion.Type

/** A conversation with its newest turns. */
export const ConversationDetail = Schema.Struct({
  ...conversationFields,
  /** The system message. */
  instructions: Schema.NullOr(Schema.String),
  turns: TurnList,
  /** Oldest first. */
  unanswered: Schema.Array(UnansweredQuestion),
  /** The response that is being made in the web application; null if none is. */
  running: Schema.NullOr(ResponseId)
}).annotate({ identifier: "ConversationWithTurns", description: "A conversation with its newest turns." })
export type ConversationDetail = typeof ConversationDetail.Type

export const ConversationDeleted = Schema.Struct({
  id: ConversationId,
  object: Schema.Literal("conversation"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ConversationDeleted", description: "The conversation is gone for good." })
