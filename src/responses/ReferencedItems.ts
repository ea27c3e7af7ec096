import { Effect } from "effect"
import { Conversations } from "../conversations/Conversations.ts"
import type { ConversationState } from "../domain/Conversation.ts"
import { ItemNotFound } from "../domain/Errors.ts"
import type { ConversationId, ItemId, UserId } from "../domain/Ids.ts"
import type { InputItem, StoredItem } from "../domain/Item.ts"
import type { Incoming } from "./IncomingInput.ts"
import { firstOfRound, isSameRound, nextOfRound } from "./SentCalls.ts"

/** An item of a request's input. */
export interface GivenItem {
  readonly item: InputItem
  /** Where the request refers to it, and the conversation that it was stored in; null where it is given itself. */
  readonly reference: { readonly param: string; readonly conversationId: ConversationId } | null
}

/** An item of an earlier turn as part of a new turn's input; it gets an id of its own there. */
const asInput = (item: StoredItem, id: ItemId): InputItem =>
  item.type === "message" ? { id, type: "message", role: item.role, content: item.content } : { ...item, id }

/** Puts the stored items in the place of the references to them, each once: a second reference to it adds nothing. */
export const makeReferencedItems = Effect.fnUntraced(function* (nextItemId: () => ItemId) {
  const conversations = yield* Conversations

  return Effect.fnUntraced(function* (userId: UserId, entries: ReadonlyArray<Incoming>) {
    const first = new Map<ItemId, string>()
    for (const entry of entries) {
      if (entry.kind === "reference" && !first.has(entry.id)) first.set(entry.id, entry.param)
    }
    const stored = yield* conversations.items(userId, [...first.keys()])
    const given: Array<GivenItem> = []
    let before: { readonly stored: ItemId; readonly id: ItemId } | null = null
    for (const entry of entries) {
      if (entry.kind === "item") {
        given.push({ item: entry.item, reference: null })
      } else if (first.get(entry.id) === entry.param) {
        const { param } = entry
        const found = stored.get(entry.id)
        if (found === undefined) return yield* new ItemNotFound({ param })
        const { conversationId, item } = found
        // Calls that were one round stay one, and others stay apart.
        const id: ItemId =
          before !== null && isSameRound(before.stored, entry.id)
            ? nextOfRound(before.id, nextItemId)
            : firstOfRound(nextItemId)
        before = { stored: entry.id, id }
        given.push({ item: asInput(item, id), reference: { param, conversationId } })
      }
    }
    return given
  })
})

/** Without the items of the conversation that is continued: its history has them already. */
export const notInHistory = (
  given: ReadonlyArray<GivenItem>,
  { conversationId }: ConversationState
): ReadonlyArray<InputItem> =>
  given.flatMap(({ item, reference }) => (reference?.conversationId === conversationId ? [] : [item]))
