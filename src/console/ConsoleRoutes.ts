import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { administrationHandlers } from "../admin/AdminRoutes.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { CurrentUser } from "../domain/Account.ts"
import { noKeyLimits } from "../domain/KeyLimits.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { makeCreateResponse } from "../http/ResponsesHandlers.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { CurrentSession } from "./CurrentSession.ts"
import { MeHandlers } from "./MeHandlers.ts"
import { ConsoleAuthenticationLayer } from "./SessionAuthentication.ts"
import { SessionHandlers } from "./SessionHandlers.ts"

/** Creates responses as the public interface does, accounted to the key that stands for the web application. */
const ConversingHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "conversing",
  Effect.fnUntraced(function* (handlers) {
    const apiKeys = yield* ApiKeys
    const createResponse = yield* makeCreateResponse

    return handlers.handle(
      "create",
      Effect.fnUntraced(function* (request) {
        const { person, plan } = yield* CurrentSession
        const { organizationId, userId } = person
        const keyId = yield* apiKeys.webKeyOf(userId)
        return yield* Effect.provideService(createResponse(request), CurrentUser, {
          userId,
          organizationId,
          keyId,
          keyLimits: noKeyLimits,
          plan
        })
      }, enveloped)
    )
  })
)

/** The interface of the web application, under /console. */
export const ConsoleRoutes = HttpApiBuilder.layer(ConsoleApi).pipe(
  Layer.provide([SessionHandlers, MeHandlers, ConversingHandlers, administrationHandlers(ConsoleApi)]),
  Layer.provide(ConsoleAuthenticationLayer)
)
