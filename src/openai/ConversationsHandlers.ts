import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { Conversation } from "../api/openai/ConversationsApi.ts"
import type { Item } from "../api/openai/CreateBody.ts"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { pageItemsDefault } from "../api/openai/StoredItem.ts"
import { type ClientConversation, ClientConversations } from "../conversations/ClientConversations.ts"
import { CurrentUser } from "../domain/Account.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { ConversationItems } from "../responses/ConversationItems.ts"
import { refuseKey } from "./BackgroundCreation.ts"
import { problemOfItems } from "./Contradictions.ts"
import { entriesOf } from "./ItemReading.ts"
import { Sealing } from "./Sealing.ts"
import { itemList, renderStoredItem } from "./StoredRendering.ts"

const conversationOf = ({ createdAt, id, metadata }: ClientConversation): Conversation => ({
  id: shownId("conversation", id),
  object: "conversation",
  created_at: Math.floor(createdAt.epochMilliseconds / 1_000),
  metadata
})

const readItems = Effect.fnUntraced(function* (items: ReadonlyArray<Item>) {
  const problem = problemOfItems(items, "items")
  if (problem !== null) return yield* problem
  const { userId } = yield* CurrentUser
  return yield* entriesOf(items, (yield* Sealing).of(userId))
})

export const ConversationsHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "conversations",
  Effect.fn(function* (handlers) {
    const conversations = yield* ClientConversations
    const items = yield* ConversationItems

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload, request }) {
        yield* refuseKey(request)
        const entries = yield* readItems(payload.items ?? [])
        const created = yield* items.create(payload.metadata ?? {}, entries)
        return conversationOf(created)
      }, enveloped),
      get: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        return conversationOf(yield* conversations.find(userId, params.conversation_id))
      }, enveloped),
      update: Effect.fnUntraced(function* ({ params, payload }) {
        const { userId } = yield* CurrentUser
        return conversationOf(yield* conversations.update(userId, params.conversation_id, payload.metadata))
      }, enveloped),
      delete: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        yield* conversations.delete(userId, params.conversation_id)
        const id = shownId("conversation", params.conversation_id)
        return { id, object: "conversation.deleted", deleted: true } as const
      }, enveloped),
      items: Effect.fnUntraced(function* ({ params, query }) {
        const { userId } = yield* CurrentUser
        const { limit = pageItemsDefault, order = "desc", ...after } = query
        const wanted = { ...after, limit, order }
        return itemList(yield* conversations.items(userId, params.conversation_id, wanted))
      }, enveloped),
      addItems: Effect.fnUntraced(function* ({ params, payload, request }) {
        yield* refuseKey(request)
        const added = yield* items.add(params.conversation_id, yield* readItems(payload.items))
        return itemList({ items: added, hasMore: false })
      }, enveloped),
      item: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        return renderStoredItem(yield* conversations.item(userId, params.conversation_id, params.item_id))
      }, enveloped),
      deleteItem: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        const { conversation_id, item_id } = params
        return conversationOf(yield* conversations.deleteItem(userId, conversation_id, item_id))
      }, enveloped)
    })
  })
)
