import { Context, Effect, Layer, type Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { Conversations, type CommitTurn } from "../conversations/Conversations.ts"
import type { ConversationState, OpenTurn } from "../domain/Conversation.ts"
import {
  type ConversationBusy,
  ConversationNotFound,
  type DatabaseUnavailable,
  ResponseNotLast,
  type TurnLeaseLost
} from "../domain/Errors.ts"
import { ConversationId, type ResponseId, type UserId } from "../domain/Ids.ts"
import type { Demands, ResponseRequest } from "./prompt/ResponseRequest.ts"

/** The turn of a request: the conversation it continues, and the ways to store it. */
interface OpenedTurn {
  /** The conversation that the answer continues. */
  readonly turn: ConversationState
  /** The conversation id of the response: that of the conversation in which the turn will be stored. */
  readonly conversationId: ConversationId
  /** Completes when the conversation is in the database. */
  readonly stored: Effect.Effect<void, DatabaseUnavailable>
  /** Removes a new conversation without a turn. Run it if the client never learns the conversation's id. */
  readonly forget: Effect.Effect<void>
  readonly commit: (content: CommitTurn) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
  /** Fails when the turn can't be stored any more; never succeeds. */
  readonly lost: Effect.Effect<never, TurnLeaseLost>
}

/** True if the request and its answer are stored. */
export const isStored = ({ store }: ResponseRequest): boolean => store !== false

/** The instructions of a request; null if there are none. */
export const instructionsOf = ({ instructions }: ResponseRequest): string | null => instructions || null

/** The instructions that a new conversation keeps as its system message. */
export const keptInstructions = (
  request: ResponseRequest,
  { passingInstructions = false }: Pick<Demands, "passingInstructions">
): string | null => (passingInstructions ? null : instructionsOf(request))

/**
 * The cache scope shared by requests whose prompts begin alike: the client's name for it, else the
 * conversation, else the instructions. The scope begins with the user, so that no user can find out what
 * another one asks.
 */
export const cacheScopeOf = (
  request: ResponseRequest,
  { cacheKey }: Pick<Demands, "cacheKey">,
  userId: UserId,
  { conversationId, turnCount }: ConversationState,
  instructions: ReadonlyArray<string | null>
): string => {
  if (cacheKey !== undefined) return JSON.stringify([userId, "key", cacheKey])
  return isStored(request) || turnCount > 0
    ? JSON.stringify([userId, "conversation", conversationId])
    : JSON.stringify([userId, "instructions", ...instructions])
}

const notStored = (turn: ConversationState): OpenedTurn => ({
  turn,
  conversationId: turn.conversationId,
  stored: Effect.void,
  forget: Effect.void,
  commit: () => Effect.void,
  lost: Effect.never
})

type TurnDemands = Pick<Demands, "branches" | "passingInstructions" | "replaces">

type TurnFailure = ConversationNotFound | ResponseNotLast | ConversationBusy | DatabaseUnavailable

/** Opens the turn of a request, in the conversation that it names by any of its fields, or in a new one. */
export class RequestTurn extends Context.Service<
  RequestTurn,
  {
    /**
     * Opens the turn of a request, and releases it when the scope closes.
     *
     * `branches`: a request gets a conversation of its own if it doesn't continue the last response, or
     * another request is already continuing it. `replaces`: the turn takes the place of that response's turn,
     * if it is the last one.
     */
    readonly open: (
      request: ResponseRequest,
      userId: UserId,
      demands?: TurnDemands
    ) => Effect.Effect<OpenedTurn, TurnFailure, Scope.Scope>
  }
>()("parley/responses/RequestTurn") {
  static readonly layer = Layer.effect(
    RequestTurn,
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const random = yield* SecureRandom.SecureRandom

      const named = Effect.fnUntraced(function* (request: ResponseRequest, userId: UserId) {
        const { conversation, conversation_id, previous_response_id } = request
        if (conversation_id != null) return { id: conversation_id, param: "conversation_id" as const }
        if (conversation != null) {
          const id = typeof conversation === "string" ? conversation : conversation.id
          return { id, param: "conversation" as const }
        }
        if (previous_response_id == null) return { id: null, param: "conversation_id" as const }
        const id = yield* conversations.ofResponse(userId, previous_response_id)
        return { id, param: "previous_response_id" as const }
      })

      /** Needs no lease, because nothing is stored. */
      const unstored = Effect.fnUntraced(function* (userId: UserId, id: ConversationId | null) {
        // spec: every response has a conversation id; this one refers to no stored conversation.
        const turn: ConversationState =
          id === null
            ? {
                conversationId: ConversationId.make(yield* random.uuidV7()),
                turnCount: 0,
                systemMessage: null
              }
            : yield* conversations.read(userId, id)
        return notStored(turn)
      })

      const leased = Effect.fnUntraced(function* (
        userId: UserId,
        id: ConversationId | null,
        instructions: string | null
      ) {
        if (id !== null) return opened(yield* conversations.open(userId, id))
        const { forget, stored, turn } = yield* conversations.create(userId, instructions)
        return { ...opened(turn), stored, forget }
      })

      const opened = (turn: OpenTurn): OpenedTurn => ({
        turn,
        conversationId: turn.conversationId,
        stored: Effect.void,
        forget: Effect.void,
        commit: (content) => conversations.commit(turn, content),
        lost: conversations.lost(turn)
      })

      /** Opens a turn that answers the input of the last response again. */
      const openInPlace = Effect.fnUntraced(function* (
        userId: UserId,
        id: ConversationId,
        replaced: ResponseId
      ) {
        const turn = yield* conversations.open(userId, id)
        const last = yield* Effect.catchTag(
          conversations.upTo(userId, replaced),
          "ConversationNotFound",
          () => Effect.succeed(null)
        )
        if (last === null || !last.isLast || last.state.conversationId !== id)
          return yield* new ResponseNotLast()
        return {
          ...opened(turn),
          turn: { ...turn, turnCount: turn.turnCount - 1 },
          commit: (content) => conversations.commit(turn, content, replaced)
        } satisfies OpenedTurn
      })

      /** Continues from a response that need not be the last of its conversation. */
      const openAfter = Effect.fnUntraced(function* (
        userId: UserId,
        responseId: ResponseId,
        isKept: boolean
      ) {
        const { isLast, state } = yield* conversations.upTo(userId, responseId)
        if (!isKept) return notStored(state)
        const last = isLast ? yield* conversations.openAt(userId, state) : null
        if (last !== null) return opened(last)
        const conversationId = ConversationId.make(yield* random.uuidV7())
        const branch: OpenedTurn = {
          turn: state,
          conversationId,
          stored: Effect.void,
          forget: Effect.void,
          commit: (content) => conversations.commitBranch({ userId, source: state, conversationId }, content),
          // No other request can know the id of the new conversation.
          lost: Effect.never
        }
        return branch
      })

      const open = Effect.fnUntraced(function* (
        request: ResponseRequest,
        userId: UserId,
        demands: TurnDemands = {}
      ) {
        const { branches = false, replaces } = demands
        if (branches && request.previous_response_id != null) {
          const { previous_response_id: previous } = request
          return yield* Effect.catchTag(
            openAfter(userId, previous, isStored(request)),
            "ConversationNotFound",
            () => new ConversationNotFound({ param: "previous_response_id" })
          )
        }
        const { id, param } = yield* named(request, userId)
        if (replaces !== undefined && id !== null) return yield* openInPlace(userId, id, replaces)
        const turn: Effect.Effect<OpenedTurn, TurnFailure, Scope.Scope> = isStored(request)
          ? leased(userId, id, keptInstructions(request, demands))
          : unstored(userId, id)
        return yield* Effect.catchTag(turn, "ConversationNotFound", () => new ConversationNotFound({ param }))
      })

      return RequestTurn.of({ open })
    })
  )
}
