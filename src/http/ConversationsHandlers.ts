import { DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import type {
  ConversationDetail,
  ConversationObject,
  ConversationTurn,
  UnansweredQuestion
} from "../api/ConversationObject.ts"
import { pageConversationsDefault, pageTurnsDefault } from "../api/ConversationsApi.ts"
import { shownUsage } from "../api/ResponseObject.ts"
import { type ReasoningShown, shownInputs, shownOutputs } from "../api/ShownItem.ts"
import { ClientConversations } from "../conversations/ClientConversations.ts"
import type {
  FoundConversation,
  ListedConversation,
  OpenedConversation,
  ShownTurn,
  Unanswered
} from "../conversations/ConversationRows.ts"
import { ListedConversations } from "../conversations/ListedConversations.ts"
import { CurrentUser } from "../domain/Account.ts"
import { incompleteDetails } from "../domain/Conversation.ts"
import type { ConversationId, ProjectId, ResponseId } from "../domain/Ids.ts"
import { Policy } from "../plans/Policy.ts"
import { usageOf } from "../responses/generation/TurnDetails.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { enveloped } from "./ErrorBoundary.ts"

const millis = DateTime.toEpochMillis

export const conversationObject = (conversation: ListedConversation): ConversationObject => ({
  id: conversation.id,
  object: "conversation",
  title: conversation.title,
  project_id: conversation.projectId,
  hidden: conversation.hidden,
  turn_count: conversation.turnCount,
  created_at: millis(conversation.createdAt),
  updated_at: millis(conversation.updatedAt)
})

const foundObject = ({ match, ...conversation }: FoundConversation): ConversationObject => ({
  ...conversationObject(conversation),
  ...(match === undefined ? {} : { match: match && { response_id: match.responseId, text: match.text } })
})

const turnObject = (
  { createdAt, details, input, model, output, responseId }: ShownTurn,
  reasoning: ReasoningShown
): ConversationTurn => ({
  id: responseId,
  object: "conversation.turn",
  created_at: details?.createdAt ?? millis(createdAt),
  completed_at: details?.completedAt ?? millis(createdAt),
  model,
  input: shownInputs(input),
  output: shownOutputs(output, reasoning),
  incomplete_details: incompleteDetails(details?.incompleteReason ?? null, output),
  usage: details?.usage == null ? null : shownUsage(usageOf(details.usage))
})

const unansweredObject = ({
  code,
  createdAt,
  input,
  message,
  replaces,
  responseId
}: Unanswered): UnansweredQuestion => ({
  response_id: responseId,
  created_at: createdAt,
  // Only questions that were accepted are kept.
  input: input as UnansweredQuestion["input"],
  replaces,
  code,
  message
})

const conversationDetail = (
  conversation: OpenedConversation,
  reasoning: ReasoningShown
): ConversationDetail => ({
  ...conversationObject(conversation),
  instructions: conversation.systemMessage,
  turns: {
    object: "list",
    data: conversation.turns.map((turn) => turnObject(turn, reasoning)),
    has_more: conversation.hasMore,
    first_id: conversation.turns[0]?.responseId ?? null,
    last_id: conversation.turns.at(-1)?.responseId ?? null
  },
  unanswered: conversation.unanswered.map(unansweredObject),
  running: conversation.running
})

interface OfConversation {
  readonly params: { readonly conversation_id: ConversationId }
}

interface ListQuery {
  readonly limit?: number
  readonly after?: ConversationId
  readonly search?: string
  readonly hidden?: "true" | "false"
  readonly project_id?: ProjectId
}

interface TurnsQuery {
  readonly limit?: number
  readonly before?: ResponseId
}

interface Changes {
  readonly title?: string | null
  readonly project_id?: ProjectId | null
}

/** Handlers of the endpoints of conversations, with a key and in the web application. */
export const makeConversationsHandlers = Effect.fnUntraced(function* (reasoning: ReasoningShown) {
  const conversations = yield* ListedConversations
  const removed = yield* ClientConversations
  const policy = yield* Policy

  return {
    list: Effect.fnUntraced(function* ({ query }: { readonly query: ListQuery }) {
      const { userId } = yield* CurrentUser
      const { hidden, limit = pageConversationsDefault, project_id, ...rest } = query
      const { data, hasMore, lastId } = yield* conversations.list(userId, {
        ...rest,
        limit,
        hidden: hidden === "true",
        ...(project_id === undefined ? {} : { projectId: project_id })
      })
      return {
        object: "list",
        data: data.map(foundObject),
        has_more: hasMore,
        first_id: data[0]?.id ?? null,
        last_id: lastId
      } as const
    }, enveloped),
    get: Effect.fnUntraced(function* ({ params, query }: OfConversation & { readonly query: TurnsQuery }) {
      const { userId } = yield* CurrentUser
      const { limit = pageTurnsDefault, ...before } = query
      return conversationDetail(
        yield* conversations.open(userId, params.conversation_id, { ...before, limit }),
        reasoning
      )
    }, enveloped),
    update: Effect.fnUntraced(function* ({
      params,
      payload
    }: OfConversation & { readonly payload: Changes }) {
      const { userId } = yield* CurrentUser
      const { project_id: projectId, ...title } = payload
      if (projectId != null) yield* policy.project(userId, projectId)
      const changes = { ...title, ...(projectId === undefined ? {} : { projectId }) }
      return conversationObject(yield* conversations.update(userId, params.conversation_id, changes))
    }, enveloped),
    delete: Effect.fnUntraced(function* ({ params }: OfConversation) {
      const { userId } = yield* CurrentUser
      yield* removed.delete(userId, params.conversation_id)
      return { id: params.conversation_id, object: "conversation", deleted: true } as const
    }, enveloped)
  }
})

export const ConversationsHandlers = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fn(function* (handlers) {
    const { reasoningOnV1 } = (yield* AppConfig).models
    return handlers.handleAll(yield* makeConversationsHandlers(reasoningOnV1))
  })
)
