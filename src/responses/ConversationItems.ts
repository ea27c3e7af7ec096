import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { type ClientConversation, ClientConversations } from "../conversations/ClientConversations.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { CurrentUser } from "../domain/Account.ts"
import type { FunctionCall, InputItem } from "../domain/Conversation.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import type * as Errors from "../domain/Errors.ts"
import { type ConversationId, type ItemId, ResponseId } from "../domain/Ids.ts"
import type { Denial } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import { AttachedFiles, unreadFiles } from "./prompt/AttachedFiles.ts"
import { answeredCalls } from "./prompt/FunctionItems.ts"
import { findImages } from "./prompt/Images.ts"
import { type GivenItem, readEntries, resolveReferences } from "./prompt/IncomingInput.ts"
import { turnTokens } from "./prompt/PromptAssembly.ts"
import { RequestMedia } from "./prompt/RequestMedia.ts"
import { nextItemId, type RequestEntry } from "./prompt/ResponseRequest.ts"

/** The reasons why items can't be added. */
type ItemsRefused =
  | InvalidRequest
  | Errors.FileNotFound
  | Errors.FileNotReady
  | Errors.FileUnreadable
  | Errors.ItemNotFound
  | Errors.ServerBusy
  | Errors.StorageFailed
  | Denial
  | Errors.DatabaseUnavailable

/** Adds items to conversations without asking a model for an answer. */
export class ConversationItems extends Context.Service<
  ConversationItems,
  {
    /** A new conversation. Texts of `system` and `developer` items are its system message. */
    readonly create: (
      metadata: ClientConversation["metadata"],
      entries: ReadonlyArray<RequestEntry>
    ) => Effect.Effect<
      ClientConversation,
      ItemsRefused | Errors.ConversationNotFound | Errors.ConversationBusy | Errors.TurnLeaseLost,
      CurrentUser
    >
    /** Waits while an answer is being added. */
    readonly add: (
      id: ConversationId,
      entries: ReadonlyArray<RequestEntry>
    ) => Effect.Effect<
      ReadonlyArray<InputItem>,
      ItemsRefused | Errors.ConversationNotFound | Errors.ConversationBusy | Errors.TurnLeaseLost,
      CurrentUser
    >
  }
>()("parley/responses/ConversationItems") {
  static readonly layer = Layer.effect(
    ConversationItems,
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const created = yield* ClientConversations
      const random = yield* SecureRandom.SecureRandom
      const readItems = yield* makeReadItems

      /** The items are the input of a turn without a model and an answer, which is no response. */
      const store = Effect.fnUntraced(
        function* (id: ConversationId, { files, given, images, results }: ReadItems) {
          const { userId } = yield* CurrentUser
          const turn = yield* conversations.open(userId, id)
          const items = given.map(({ item }) => item)
          const calls: ReadonlyArray<FunctionCall> = yield* answeredCalls(results, items, (ids) =>
            conversations.functionCalls(turn, ids)
          )
          yield* conversations.commit(turn, {
            responseId: ResponseId.make(yield* random.uuidV7()),
            model: "",
            input: items,
            output: [],
            systemMessage: turn.systemMessage,
            promptTokens: turnTokens(items, files, calls),
            details: null,
            images: [...(yield* findImages(conversations, userId, items, images)).values()]
          })
          return items
        },
        (effect) => Effect.scoped(effect)
      )

      const create = Effect.fn("ConversationItems.create")(function* (
        metadata: ClientConversation["metadata"],
        entries: ReadonlyArray<RequestEntry>
      ) {
        const { userId } = yield* CurrentUser
        const read = yield* readItems(entries)
        const systemMessage = read.directions.join("\n\n") || null
        const conversation = yield* created.create(userId, metadata, systemMessage)
        if (read.given.length > 0) yield* store(conversation.id, read)
        return conversation
      })

      const add = Effect.fn("ConversationItems.add")(function* (
        id: ConversationId,
        entries: ReadonlyArray<RequestEntry>
      ) {
        const read = yield* readItems(entries)
        if (read.directions.length > 0) {
          return yield* new InvalidRequest({
            param: "items",
            message:
              "`items` has an item of the role system or developer. Send such texts as `instructions` of a response, or create the " +
              "conversation with them."
          })
        }
        return read.given.length === 0 ? [] : yield* store(id, read)
      })

      return ConversationItems.of({ create, add })
    })
  ).pipe(Layer.provide([AttachedFiles.layer, RequestMedia.layer]))
}

/** Reads items as the input of a request, and finds the files and items they refer to. */
const makeReadItems = Effect.gen(function* () {
  const attachedFiles = yield* AttachedFiles
  const media = yield* RequestMedia
  const conversations = yield* Conversations
  const policy = yield* Policy

  return Effect.fnUntraced(function* (entries: ReadonlyArray<RequestEntry>) {
    const caller = yield* CurrentUser
    const { plan, userId } = caller
    const { operation } = yield* policy.permissions(plan)
    const { images, input } = yield* media.read(entries, caller, "items")
    const read = yield* readEntries(typeof input === "string" ? [] : input, nextItemId, true, "items")
    const denial =
      operation("responses", "") ?? (read.files[0] && operation("files", read.files[0].param)) ?? null
    if (denial !== null) return yield* denial
    const findItems = (ids: ReadonlyArray<ItemId>) => conversations.items(userId, ids)
    const given: ReadonlyArray<GivenItem> = yield* resolveReferences(read.entries, findItems, nextItemId)
    const files = unreadFiles(yield* attachedFiles.find(userId, read.files, given))
    return { given, files, images, directions: read.directions, results: read.results }
  })
})

type ReadItems = Effect.Success<ReturnType<Effect.Success<typeof makeReadItems>>>
