import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { pageItemsDefault } from "../api/openai/StoredItem.ts"
import { CurrentUser } from "../domain/Account.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { makeDetached } from "./DetachedResponses.ts"
import { itemList } from "./StoredRendering.ts"

export const StoredResponsesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "storedResponses",
  Effect.fn(function* (handlers) {
    const detached = yield* makeDetached

    return handlers.handleAll({
      get: Effect.fnUntraced(function* ({ params, query }) {
        const { userId } = yield* CurrentUser
        const { starting_after: after = -1, stream } = query
        return stream === "true"
          ? yield* detached.resume(userId, params.response_id, after)
          : yield* detached.show(userId, params.response_id)
      }, enveloped),
      cancel: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        return yield* detached.cancel(userId, params.response_id)
      }, enveloped),
      delete: Effect.fnUntraced(function* ({ params }) {
        const { userId } = yield* CurrentUser
        yield* detached.delete(userId, params.response_id)
        return { id: shownId("response", params.response_id), object: "response", deleted: true } as const
      }, enveloped),
      inputItems: Effect.fnUntraced(function* ({ params, query }) {
        const { userId } = yield* CurrentUser
        const { limit = pageItemsDefault, order = "desc", ...after } = query
        return itemList(yield* detached.inputItems(userId, params.response_id, { ...after, limit, order }))
      }, enveloped)
    })
  })
)
