import { Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { administrationHandlers } from "../admin/AdminRoutes.ts"
import { makeProjectsHandlers } from "../http/ProjectsHandlers.ts"
import { makeCreateResponse } from "../http/ResponsesHandlers.ts"
import { AnswersHandlers } from "./AnswersHandlers.ts"
import { ConsoleApi } from "./ConsoleApi.ts"
import { ConversationsHandlers } from "./ConversationsHandlers.ts"
import { MeHandlers } from "./MeHandlers.ts"
import { OwnFilesHandlers } from "./OwnFilesHandlers.ts"
import { ConsoleAuthenticationLayer } from "./SessionAuthentication.ts"
import { SessionHandlers } from "./SessionHandlers.ts"

/**
 * Creates responses as the public interface does, accounted to the key that stands for the web application.
 */
const ConversingHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "conversing",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handle("create", yield* makeCreateResponse)
  })
)

/** The projects of the signed-in user, as in the public interface. */
const OwnProjectsHandlers = HttpApiBuilder.group(
  ConsoleApi,
  "ownProjects",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll(yield* makeProjectsHandlers)
  })
)

/** The interface of the web application, under /console. */
export const ConsoleRoutes = HttpApiBuilder.layer(ConsoleApi).pipe(
  Layer.provide([
    SessionHandlers,
    MeHandlers,
    ConversingHandlers,
    ConversationsHandlers,
    AnswersHandlers,
    OwnFilesHandlers,
    OwnProjectsHandlers,
    administrationHandlers(ConsoleApi)
  ]),
  Layer.provide(ConsoleAuthenticationLayer)
)
