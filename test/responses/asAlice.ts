import { Effect, Layer, Redacted, Stream } from "effect"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { CurrentUser } from "../../src/domain/Account.ts"
import type { Demands, ResponseRequest } from "../../src/responses/prompt/ResponseRequest.ts"
import { Responses } from "../../src/responses/Responses.ts"
import { TestApp } from "../support/TestApp.ts"

/** The service of TestApp, and its responses without an interface between. */
export const layerResponses = Responses.layer.pipe(Layer.provideMerge(TestApp.layer()), Layer.orDie)

/** All events of a response to Alice, who may demand what `/v1` doesn't know. */
export const eventsForAlice = Effect.fnUntraced(function* (request: ResponseRequest, demands?: Demands) {
  const { alice } = yield* TestApp
  const caller = yield* (yield* ApiKeys).authenticate(Redacted.make(alice.key))
  const responses = yield* Responses
  const begun = yield* Effect.provideService(responses.create(request, demands), CurrentUser, caller)
  return yield* Stream.runCollect(begun.events)
}, Effect.scoped)

/** The completed response. */
export const answerForAlice = Effect.fnUntraced(function* (request: ResponseRequest, demands?: Demands) {
  const last = (yield* eventsForAlice(request, demands)).at(-1)
  if (last?.type !== "response.completed")
    throw new Error("The stream of a response ended without its last event.")
  return last.response
})
