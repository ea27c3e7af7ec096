import { Effect, type Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import type { CreateResponse } from "../api/CreateResponse.ts"
import { Conversations, type CommitTurn } from "../conversations/Conversations.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import {
  type ConversationBusy,
  ConversationNotFound,
  type DatabaseUnavailable,
  type TurnLeaseLost
} from "../domain/Errors.ts"
import { ConversationId, type UserId } from "../domain/Ids.ts"

/** The turn that a request makes: what it starts from, and how it is stored. */
export interface RequestTurn {
  readonly turn: ConversationState
  /** Completes when the conversation is in the database. */
  readonly stored: Effect.Effect<void, DatabaseUnavailable>
  readonly commit: (content: CommitTurn) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
  /** Fails when the turn can't be stored any more; never succeeds. */
  readonly lost: Effect.Effect<never, TurnLeaseLost>
}

/** Whether anything of the request and of its answer is to be stored. */
export const isStored = ({ store }: CreateResponse): boolean => store !== false

/** The instructions of a request; null where there are none. */
export const instructionsOf = ({ instructions }: CreateResponse): string | null =>
  instructions ? instructions : null

/** Opens the turn of a request, in the conversation that it names by whichever of its fields, or in a new one. */
export const makeRequestTurn = Effect.gen(function* () {
  const conversations = yield* Conversations
  const random = yield* SecureRandom.SecureRandom

  const named = Effect.fnUntraced(function* (request: CreateResponse, userId: UserId) {
    if (request.conversation_id != null) {
      return { id: request.conversation_id, param: "conversation_id" as const }
    }
    const conversation = request.conversation
    if (conversation != null) {
      const id = typeof conversation === "string" ? conversation : conversation.id
      return { id, param: "conversation" as const }
    }
    if (request.previous_response_id == null) return null
    const id = yield* conversations.ofResponse(userId, request.previous_response_id)
    return { id, param: "previous_response_id" as const }
  })

  /** Nothing is stored, so that no right to the conversation is needed, and none can be lost. */
  const unstored = Effect.fnUntraced(function* (userId: UserId, id: ConversationId | null) {
    // spec: an id is returned on every response; this one names nothing.
    const turn: ConversationState =
      id === null
        ? { conversationId: ConversationId.make(yield* random.uuidV7()), turnCount: 0, systemMessage: null }
        : yield* conversations.read(userId, id)
    return { turn, stored: Effect.void, commit: () => Effect.void, lost: Effect.never } satisfies RequestTurn
  })

  const storable = Effect.fnUntraced(function* (
    userId: UserId,
    id: ConversationId | null,
    instructions: string | null
  ) {
    const { stored, turn } =
      id === null
        ? yield* conversations.create(userId, instructions)
        : { turn: yield* conversations.open(userId, id), stored: Effect.void }
    return {
      turn,
      stored,
      commit: (content) => conversations.commit(turn, content),
      lost: conversations.lost(turn)
    } satisfies RequestTurn
  })

  return Effect.fnUntraced(function* (request: CreateResponse, userId: UserId) {
    const { id, param } = (yield* named(request, userId)) ?? { id: null, param: "conversation_id" }
    const turn: Effect.Effect<
      RequestTurn,
      ConversationNotFound | ConversationBusy | DatabaseUnavailable,
      Scope.Scope
    > = isStored(request) ? storable(userId, id, instructionsOf(request)) : unstored(userId, id)
    return yield* Effect.catchTag(turn, "ConversationNotFound", () => new ConversationNotFound({ param }))
  })
})
