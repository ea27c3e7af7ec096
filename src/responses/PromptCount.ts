import { Context, Effect, Layer } from "effect"
import { CurrentUser } from "../domain/Account.ts"
import { ModelNotFound } from "../domain/Errors.ts"
import { Policy } from "../plans/Policy.ts"
import { Router } from "../routing/Router.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { makeOffers } from "./Offers.ts"
import { AttachedFiles } from "./prompt/AttachedFiles.ts"
import { answeredCalls } from "./prompt/FunctionItems.ts"
import { imagesById } from "./prompt/Images.ts"
import { readInput, resolveReferences } from "./prompt/IncomingInput.ts"
import { longInput, makeAssembly } from "./prompt/PromptAssembly.ts"
import { RequestMedia } from "./prompt/RequestMedia.ts"
import { nextItemId, type Demands, type ResponseRequest } from "./prompt/ResponseRequest.ts"
import type { RequestFailure } from "./Responses.ts"

/** Counts the prompt tokens of a request that continues no conversation and searches no files. */
export class PromptCount extends Context.Service<
  PromptCount,
  {
    /**
     * The estimated tokens of the whole prompt with the offered tools, with nothing left out. Asks no model.
     */
    readonly count: (
      request: ResponseRequest,
      demands: Demands
    ) => Effect.Effect<number, RequestFailure, CurrentUser>
  }
>()("parley/responses/PromptCount") {
  static readonly layer = Layer.effect(
    PromptCount,
    Effect.gen(function* () {
      const attachedFiles = yield* AttachedFiles
      const media = yield* RequestMedia
      const policy = yield* Policy
      const router = yield* Router
      const offerOf = makeOffers((yield* Toolkit).offered)

      const count: PromptCount["Service"]["count"] = Effect.fnUntraced(function* (request, demands) {
        const caller = yield* CurrentUser
        const permissions = yield* policy.permissions(caller.plan)
        const denial = permissions.operation("responses", "")
        if (denial !== null) return yield* denial
        const models = (yield* router.models).filter(({ id }) => permissions.model(id))
        if (demands.model !== undefined && !models.some(({ id }) => id === demands.model))
          return yield* new ModelNotFound({ param: "model" })

        const { images, input: readable } = yield* media.read(request.input, caller)
        const input = yield* readInput(readable, nextItemId, demands.functionItems)
        const given = yield* resolveReferences(input.entries, () => Effect.succeed(new Map()), nextItemId)
        const items = given.map(({ item }) => item)
        yield* answeredCalls(input.results, items, () => Effect.succeed([]))
        const { tools } = yield* offerOf(demands, permissions.tools)
        const found = yield* attachedFiles.find(caller.userId, input.files, given)
        const windowMax = Math.max(0, ...models.map(({ contextWindow }) => contextWindow))
        const files = yield* attachedFiles.read(caller.userId, found, windowMax)
        const parts = {
          systemMessage: request.instructions ?? null,
          directions: input.directions,
          items,
          tools,
          history: [],
          files,
          knowledge: null,
          images: imagesById(images)
        }
        // An input that is longer than any window is not counted in full.
        const tooLong = longInput(parts, windowMax)
        if (tooLong !== null) return tooLong.promptTokens
        const ofFiles = [...files.values()].reduce((sum, { tokens }) => sum + tokens, 0)
        return makeAssembly(parts).leastTokens + ofFiles
      })

      return PromptCount.of({ count })
    })
  ).pipe(Layer.provide([AttachedFiles.layer, RequestMedia.layer]))
}
