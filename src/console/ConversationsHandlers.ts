import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ListedConversations } from "../conversations/ListedConversations.ts"
import { CurrentUser } from "../domain/Account.ts"
import { conversationObject, makeConversationsHandlers } from "../http/ConversationsHandlers.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Policy } from "../plans/Policy.ts"
import { ConsoleApi } from "./ConsoleApi.ts"

/** The conversations of the signed-in user. */
export const ConversationsHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* ListedConversations
    const policy = yield* Policy

    return handlers.handleAll({
      ...(yield* makeConversationsHandlers("shown")),
      create: Effect.fnUntraced(function* ({ payload }) {
        const { userId } = yield* CurrentUser
        const { instructions = "", project_id: projectId = null, title = null } = payload
        if (projectId !== null) yield* policy.project(userId, projectId)
        const created = { title, systemMessage: instructions || null, projectId }
        return conversationObject(yield* conversations.create(userId, created))
      }, enveloped),
      discard: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        return { discarded: yield* conversations.discard(userId, params.conversation_id, params.response_id) }
      }, enveloped)
    })
  })
)
