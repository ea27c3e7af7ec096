import { NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AdminKey, SealingKeyLayer } from "./admin/AdminKey.ts"
import { AdminRoutes, adminRoutes } from "./admin/AdminRoutes.ts"
import { serveAtSocket } from "./admin/OperatorSocket.ts"
import { AnthropicRoutes } from "./anthropic/AnthropicRoutes.ts"
import { AnthropicApi } from "./api/anthropic/AnthropicApi.ts"
import { Api } from "./api/Api.ts"
import { OpenAiApi } from "./api/openai/OpenAiApi.ts"
import { AppRoutes, appRoutes } from "./console/AppRoutes.ts"
import { ConsoleApi } from "./console/ConsoleApi.ts"
import { ConsoleRoutes } from "./console/ConsoleRoutes.ts"
import { IdentityRoutes, identityRoutes } from "./console/IdentityRoutes.ts"
import { makeQuestionReader } from "./console/QuestionReading.ts"
import {
  AuthenticationLayer,
  DocumentAccessLayer,
  KeyAuthenticationLayer,
  KeyedDocumentAccessLayer
} from "./http/Authentication.ts"
import { BodyBoundsLayer } from "./http/BodyBounds.ts"
import { ConversationsHandlers } from "./http/ConversationsHandlers.ts"
import { Drain } from "./http/Drain.ts"
import * as ErrorBoundary from "./http/ErrorBoundary.ts"
import { FilesHandlers } from "./http/FilesHandlers.ts"
import { MetricsRoute, MetricsServerLayer, MetricsText } from "./http/Metrics.ts"
import { ProjectsHandlers } from "./http/ProjectsHandlers.ts"
import { ResponsesHandlers } from "./http/ResponsesHandlers.ts"
import { routesOf } from "./http/Routes.ts"
import { adminServerAt, BodySizeLayer, ServerLayer, socketServerAt } from "./http/Server.ts"
import { EventStreams } from "./http/Sse.ts"
import {
  ProcessRoutes,
  processRoutes,
  SystemHandlers,
  SystemRoutes,
  systemRoutes
} from "./http/SystemHandlers.ts"
import { BackgroundResponses } from "./jobs/BackgroundResponses.ts"
import { JobRequests } from "./jobs/JobRequests.ts"
import { makeWholeRequests } from "./jobs/WholeRequests.ts"
import { readChatJob } from "./openai/KeyedChats.ts"
import { readEmbeddingsJob } from "./openai/KeyedEmbeddings.ts"
import { OpenAiRoutes } from "./openai/OpenAiRoutes.ts"
import { readJobRequest } from "./openai/RequestReading.ts"
import { Sealing } from "./openai/Sealing.ts"
import { AppConfig } from "./settings/AppConfig.ts"

/** The operator's interface. */
const OperatorRoutes = AdminRoutes.pipe(Layer.provide([BodyBoundsLayer, ErrorBoundary.EnvelopeLayer]))

const usersRoutes = [
  ...[Api, OpenAiApi, AnthropicApi, ConsoleApi].flatMap((api) => routesOf(api)),
  ...systemRoutes,
  ...identityRoutes,
  ...appRoutes
]

/** The public interface in its three profiles, the web application's, and what surrounds them. */
const UsersRoutes = Layer.mergeAll(
  Layer.merge(
    HttpApiBuilder.layer(Api).pipe(
      Layer.provide([
        ResponsesHandlers,
        ConversationsHandlers,
        FilesHandlers,
        ProjectsHandlers,
        SystemHandlers
      ])
    ),
    OpenAiRoutes
  ).pipe(
    Layer.provide([AuthenticationLayer, DocumentAccessLayer, BodyBoundsLayer, ErrorBoundary.EnvelopeLayer])
  ),
  AnthropicRoutes.pipe(
    Layer.provide([
      KeyAuthenticationLayer,
      KeyedDocumentAccessLayer,
      BodyBoundsLayer,
      ErrorBoundary.EnvelopeLayer
    ])
  ),
  ConsoleRoutes.pipe(Layer.provide([BodyBoundsLayer, ErrorBoundary.EnvelopeLayer])),
  IdentityRoutes,
  SystemRoutes,
  MetricsRoute,
  AppRoutes.pipe(Layer.provide(NodeServices.layer))
)

/** The routes on PORT, which include the operator's interface unless it has a port of its own. */
const Routes = Layer.unwrap(
  AppConfig.useSync(({ http }) =>
    http.adminPort === null
      ? Layer.mergeAll(UsersRoutes, OperatorRoutes, ErrorBoundary.layer([...usersRoutes, ...adminRoutes]))
      : Layer.merge(UsersRoutes, ErrorBoundary.layer(usersRoutes))
  )
).pipe(Layer.provide(BodySizeLayer))

const quiet = { disableLogger: true, disableListenLog: true }

/**
 * Serves the operator's interface on a server of its own. The layer provides nothing, since each server has
 * its own router.
 */
const serveOperator = <E, R>(server: Layer.Layer<HttpServer.HttpServer, E, R>) =>
  Effect.gen(function* () {
    // Links for browsers lead to the port of the web application.
    const usersServer = Layer.succeed(HttpServer.HttpServer, yield* HttpServer.HttpServer)
    const routes = Layer.mergeAll(
      OperatorRoutes.pipe(Layer.provide(usersServer)),
      ProcessRoutes,
      ErrorBoundary.layer([...adminRoutes, ...processRoutes])
    ).pipe(Layer.provide(BodySizeLayer))
    yield* HttpRouter.serve(routes, quiet).pipe(Layer.provide(server), Layer.fresh, Layer.build)
  })

/**
 * The operator's interface on PARLEY_ADMIN_PORT, if there is one, and for the command line in the data
 * directory.
 */
const OperatorServersLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { dataDir, http } = yield* AppConfig
    if (http.adminPort !== null) yield* serveOperator(adminServerAt(http.adminPort))
    yield* serveAtSocket(dataDir, (path) => serveOperator(socketServerAt(path)))
  })
).pipe(Layer.provide(NodeServices.layer))

/**
 * The spans of requests come from ErrorBoundary. They last as long as their streams, and contain no header
 * and no query.
 */
const UntracedServerLayer = Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)

/** The reader of the requests of each kind of job. */
const JobRequestsLayer = Layer.effect(
  JobRequests,
  Effect.gen(function* () {
    const sealing = yield* Sealing
    const whole = yield* makeWholeRequests
    return {
      chat: (job) => whole(job, readChatJob),
      embeddings: (job) => whole(job, readEmbeddingsJob),
      profile: (job) => whole(job, (request) => readJobRequest(request, sealing.of(job.userId))),
      question: yield* makeQuestionReader
    }
  })
)

const AdminKeyLayer = AdminKey.layer.pipe(Layer.provide(NodeServices.layer))

/** The interfaces in front of the answers. The port is opened last. */
export const HttpLayer = HttpRouter.serve(Routes, quiet).pipe(
  Layer.provide(BackgroundResponses.layer.pipe(Layer.provide(JobRequestsLayer))),
  Layer.provideMerge(OperatorServersLayer),
  Layer.provideMerge(ServerLayer),
  Layer.provideMerge(MetricsServerLayer),
  Layer.provide([
    UntracedServerLayer,
    MetricsText.layer,
    Sealing.layer.pipe(Layer.provide(SealingKeyLayer), Layer.provideMerge(AdminKeyLayer))
  ]),
  Layer.provideMerge(EventStreams.layer),
  Layer.provideMerge(Drain.layer)
)
