import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema } from "effect/http-api"
import { ConversationObject } from "../api/ConversationObject.ts"
import { Title } from "../api/ConversationsApi.ts"
import { Conflict } from "../api/ErrorEnvelope.ts"
import { AnswerEvent } from "../api/ResponseEvent.ts"
import { ConversationId, FileId, ImageId, ProjectId, ResponseId } from "../domain/Ids.ts"
import { StorableText } from "../domain/StorableText.ts"

/**
 * The interface of the web application for conversations beyond the public one: it creates them, asks, and
 * follows the answers.
 */

/** Most parts of one question. */
const partsMax = 100

const NewConversation = Schema.Struct({
  /** The beginning of the first message if left out. */
  title: Schema.optionalKey(Title),
  /** The system message. */
  instructions: Schema.optionalKey(StorableText),
  project_id: Schema.optionalKey(ProjectId)
})

const QuestionPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("input_text"), text: StorableText }),
  Schema.Struct({ type: Schema.Literal("input_file"), file_id: FileId }),
  Schema.Struct({ type: Schema.Literal("input_image"), file_id: FileId }),
  /** An image of an earlier message, which is asked about again. */
  Schema.Struct({ type: Schema.Literal("input_image"), image_id: ImageId })
]).annotate({ expected: "an input_text, input_file or input_image part" })

export const Question = Schema.Struct({
  input: Schema.Union([
    StorableText.check(Schema.isMinLength(1, { expected: "a message that is not empty" })),
    Schema.Array(QuestionPart).check(
      Schema.isMinLength(1, { expected: "a list with at least one part" }),
      Schema.isMaxLength(partsMax, { expected: `a list of at most ${partsMax} parts` })
    )
  ]).annotate({ expected: "a string or a list of parts" }),
  /**
   * The conversation's last response: its turn is replaced by this question and its answer, once that is
   * complete.
   */
  replaces: Schema.optionalKey(ResponseId),
  /**
   * The response of a question without an answer that this one takes the place of: it is sent again, changed
   * or not.
   */
  again: Schema.optionalKey(ResponseId)
}).annotate({ expected: "a JSON object" })
export type Question = typeof Question.Type

const ofConversation = { conversation_id: ConversationId }
const ofResponse = { ...ofConversation, response_id: ResponseId }
const events = HttpApiSchema.StreamSse({ data: AnswerEvent })

/** The web application's endpoints for conversations beyond the public interface. */
export const ownConversationEndpoints = [
  /** A conversation that is listed. */
  HttpApiEndpoint.post("create", "/conversations", { payload: NewConversation, success: ConversationObject }),
  /** Forgets a question that has no answer, unless it is being answered. */
  HttpApiEndpoint.delete("discard", "/conversations/:conversation_id/unanswered/:response_id", {
    params: ofResponse,
    success: Schema.Struct({ discarded: Schema.Boolean })
  })
] as const

/** Questions and their answers. */
export const answerEndpoints = [
  /**
   * Asks a question. The answer goes on when this request ends, and is stored in the conversation. The
   * headers `x-response-id` and `x-conversation-id` say what to follow. A repeated request with the same
   * `Idempotency-Key` gets the same answer. 409 `answer_in_progress`: another question is being answered; 409
   * `response_not_last`: `replaces` is not the last response any more.
   */
  HttpApiEndpoint.post("ask", "/conversations/:conversation_id/responses", {
    params: ofConversation,
    headers: { "idempotency-key": Schema.optionalKey(Schema.String) },
    payload: Question,
    success: events,
    error: Conflict
  }),
  /** All events of an answer of the last 24 hours from the first one on, and then those that come. */
  HttpApiEndpoint.get("events", "/conversations/:conversation_id/responses/:response_id/events", {
    params: ofResponse,
    success: events
  }),
  /** Stops an answer: no turn is stored. An answer that has ended stays as it is. */
  HttpApiEndpoint.post("cancel", "/conversations/:conversation_id/responses/:response_id/cancel", {
    params: ofResponse,
    success: Schema.Struct({ cancelled: Schema.Boolean })
  }),
  /** The bytes of an image that a message of the user has. */
  HttpApiEndpoint.get("image", "/conversations/:conversation_id/images/:image_id", {
    params: { ...ofConversation, image_id: ImageId },
    success: HttpApiSchema.StreamUint8Array()
  })
] as const
