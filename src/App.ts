import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AdminKey, SealingKeyLayer } from "./admin/AdminKey.ts"
import { AdminRoutes, adminRoutes } from "./admin/AdminRoutes.ts"
import { layerRecordedStart } from "./admin/InstallationFacts.ts"
import { Reload } from "./admin/Reload.ts"
import { layerGivenKey } from "./admin/Startup.ts"
import { AnthropicRoutes } from "./anthropic/AnthropicRoutes.ts"
import { AnthropicApi } from "./api/anthropic/AnthropicApi.ts"
import { Api } from "./api/Api.ts"
import { OpenAiApi } from "./api/openai/OpenAiApi.ts"
import { Audit } from "./audit/Audit.ts"
import { Accounts } from "./auth/Accounts.ts"
import { AdminKeys } from "./auth/AdminKeys.ts"
import { ApiKeys } from "./auth/ApiKeys.ts"
import { ClientAddress } from "./auth/ClientAddress.ts"
import { Identities } from "./auth/Identities.ts"
import { IdentityProvider } from "./auth/IdentityProvider.ts"
import { Links } from "./auth/Links.ts"
import { Onboarding } from "./auth/Onboarding.ts"
import { Sessions } from "./auth/Sessions.ts"
import { Backups } from "./backup/Backups.ts"
import { AppRoutes, appRoutes } from "./console/AppRoutes.ts"
import { ConsoleApi } from "./console/ConsoleApi.ts"
import { ConsoleRoutes } from "./console/ConsoleRoutes.ts"
import { IdentityRoutes, identityRoutes } from "./console/IdentityRoutes.ts"
import { makeQuestionReader } from "./console/QuestionReading.ts"
import { ClientConversations } from "./conversations/ClientConversations.ts"
import { Conversations } from "./conversations/Conversations.ts"
import { ListedConversations } from "./conversations/ListedConversations.ts"
import { endAllJobLeases, ResponseJobs } from "./conversations/ResponseJobs.ts"
import { StoredResponses } from "./conversations/StoredResponses.ts"
import { endAllLeases } from "./conversations/TurnLeases.ts"
import { TextExtraction } from "./documents/TextExtraction.ts"
import { Erasure } from "./erasure/Erasure.ts"
import { UserExport } from "./erasure/UserExport.ts"
import { BlobStore } from "./files/BlobStore.ts"
import { FileStore } from "./files/FileStore.ts"
import { FileTexts } from "./files/FileTexts.ts"
import { leaveAllStores } from "./files/StoreBinding.ts"
import { StoreHealth } from "./files/StoreHealth.ts"
import { jobsTable as textJobsTable } from "./files/TextJobs.ts"
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
import { adminServerAt, BodySizeLayer, portUnavailable, ServerLayer } from "./http/Server.ts"
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
import { OpenAiRoutes } from "./openai/OpenAiRoutes.ts"
import { readJobRequest } from "./openai/RequestReading.ts"
import { Sealing } from "./openai/Sealing.ts"
import { InstalledLicense } from "./plans/License.ts"
import { plansLayer } from "./plans/PlanCatalog.ts"
import { Policy } from "./plans/Policy.ts"
import { ConversationItems } from "./responses/ConversationItems.ts"
import { JsonSchemas } from "./responses/JsonSchemas.ts"
import { PromptCount } from "./responses/PromptCount.ts"
import { Responses } from "./responses/Responses.ts"
import { TextEmbeddings } from "./responses/TextEmbeddings.ts"
import { MemberProjects } from "./retrieval/MemberProjects.ts"
import { ProjectNotes } from "./retrieval/notes/ProjectNotes.ts"
import { Projects } from "./retrieval/Projects.ts"
import { ReadableProjects } from "./retrieval/ReadableProjects.ts"
import { Retrieval } from "./retrieval/Retrieval.ts"
import { jobsTable as indexJobsTable } from "./retrieval/vectors/EmbeddingJobs.ts"
import { Router } from "./routing/Router.ts"
import { AppConfig } from "./settings/AppConfig.ts"
import { Database } from "./sql/Database.ts"
import { unlockAllJobs } from "./sql/JobQueue.ts"
import { layerMigrations } from "./sql/Migrations.ts"
import { Egress } from "./tools/Egress.ts"
import { Network } from "./tools/egress/Network.ts"
import { BuiltinToolsLayer } from "./tools/Toolkit.ts"
import { SearchProbe } from "./tools/WebSearch.ts"
import { KeyRates } from "./usage/KeyRates.ts"
import { endAllReservations } from "./usage/Reservations.ts"
import { Usage } from "./usage/Usage.ts"

/**
 * Releases at once the leases, reservations and locks of a process that was killed. Only the embedded server has a single
 * owner, which has just started; on another server they expire by the database's clock.
 */
const SoleOwnerLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    if (!(yield* Database).isEmbedded) return
    yield* Effect.all([
      endAllLeases,
      endAllJobLeases,
      endAllReservations,
      unlockAllJobs([textJobsTable, indexJobsTable]),
      leaveAllStores
    ])
  })
)

/** The services that own tables, on a migrated database. */
export const RoomsLayer = Layer.mergeAll(
  Layer.merge(Onboarding.layer, Links.layer).pipe(
    Layer.provideMerge(Accounts.layer),
    Layer.provideMerge(ApiKeys.layer)
  ),
  Identities.layer.pipe(Layer.provide(Accounts.layer), Layer.provideMerge(Sessions.layer)),
  ClientAddress.layer,
  IdentityProvider.layer,
  Conversations.layer,
  StoredResponses.layer,
  ResponseJobs.layer,
  ClientConversations.layer,
  ListedConversations.layer,
  FileTexts.layer,
  Policy.layer,
  Usage.layer,
  Audit.layer,
  Backups.layer,
  AdminKeys.layer,
  KeyRates.layer
).pipe(Layer.provideMerge(Layer.merge(plansLayer, InstalledLicense.layer)))

/** The files of users, in the store that the settings name. */
export const FilesLayer = Layer.merge(FileStore.layer, StoreHealth.layer).pipe(
  Layer.provide(BlobStore.layer),
  Layer.provideMerge(TextExtraction.layer),
  Layer.provide(NodeServices.layer)
)

/** Projects, and the search of their files. */
export const ProjectsLayer = Layer.mergeAll(
  ProjectNotes.layer.pipe(Layer.provideMerge(MemberProjects.layer), Layer.provideMerge(Projects.layer)),
  ReadableProjects.layer
).pipe(Layer.provideMerge(Retrieval.layer))

/** The tools that models may call, and their way out to the web. */
export const ToolsLayer = Layer.merge(BuiltinToolsLayer, SearchProbe.layer).pipe(
  Layer.provideMerge(Egress.layer.pipe(Layer.provide(Network.layer))),
  Layer.provide(TextExtraction.layer)
)

/** The operator's interface, and its routes. */
const OperatorRoutes = AdminRoutes.pipe(Layer.provide([BodyBoundsLayer, ErrorBoundary.EnvelopeLayer]))
const operatorRoutes = adminRoutes

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

/** What PORT answers: the operator's interface too, unless that has a port of its own. */
const Routes = Layer.unwrap(
  AppConfig.useSync(({ http }) =>
    http.adminPort === null
      ? Layer.mergeAll(UsersRoutes, OperatorRoutes, ErrorBoundary.layer([...usersRoutes, ...operatorRoutes]))
      : Layer.merge(UsersRoutes, ErrorBoundary.layer(usersRoutes))
  )
).pipe(Layer.provide(BodySizeLayer))

const quiet = { disableLogger: true, disableListenLog: true }

const adminUnavailable = portUnavailable(
  "The operator's interface",
  "PARLEY_ADMIN_HOST and PARLEY_ADMIN_PORT"
)

/** What PARLEY_ADMIN_PORT answers, if there is one. It gives nothing on, since each port has a router of its own. */
const AdminServerLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { adminPort } = (yield* AppConfig).http
    if (adminPort === null) return
    // Links for browsers lead to the port of the web application.
    const usersServer = Layer.succeed(HttpServer.HttpServer, yield* HttpServer.HttpServer)
    const routes = Layer.mergeAll(
      OperatorRoutes.pipe(Layer.provide(usersServer)),
      ProcessRoutes,
      ErrorBoundary.layer([...operatorRoutes, ...processRoutes])
    ).pipe(Layer.provide(BodySizeLayer))
    yield* HttpRouter.serve(routes, quiet).pipe(
      Layer.provide(adminServerAt(adminPort)),
      Layer.build,
      Effect.catchTag("ServeError", (error) => Effect.fail(adminUnavailable(error)))
    )
  })
)

/** ErrorBoundary makes the spans of the requests, which last as long as their streams, and hold no header and no query. */
const UntracedServerLayer = Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)

/** Who reads the requests of which jobs. */
const JobRequestsLayer = Layer.effect(
  JobRequests,
  Effect.gen(function* () {
    const sealing = yield* Sealing
    const whole = yield* makeWholeRequests
    return {
      chat: (job) => whole(job, readChatJob),
      profile: (job) => whole(job, (request) => readJobRequest(request, sealing.of(job.userId))),
      question: yield* makeQuestionReader
    }
  })
)

const AdminKeyLayer = AdminKey.layer.pipe(Layer.provide(NodeServices.layer))

/** The interfaces on any database, models and services. The port is opened last. */
export const ServiceLayer = HttpRouter.serve(Routes, quiet).pipe(
  Layer.provide(BackgroundResponses.layer.pipe(Layer.provide(JobRequestsLayer))),
  Layer.provideMerge(AdminServerLayer),
  Layer.provideMerge(ServerLayer),
  Layer.provideMerge(MetricsServerLayer),
  Layer.provide(UntracedServerLayer),
  Layer.provide([
    Responses.layer,
    PromptCount.layer,
    JsonSchemas.layer,
    TextEmbeddings.layer,
    ConversationItems.layer,
    MetricsText.layer,
    Sealing.layer.pipe(Layer.provide(SealingKeyLayer), Layer.provideMerge(AdminKeyLayer))
  ]),
  Layer.provideMerge(Layer.merge(Erasure.layer, UserExport.layer)),
  Layer.provideMerge(EventStreams.layer),
  Layer.provideMerge(Layer.merge(Drain.layer, Reload.layer))
)

/**
 * What surrounds the answers, and what a start stores: side by side, since all of it waits for the database, and once the files are known
 * to belong to it. A start that is refused stores nothing.
 */
const BeforeServiceLayer = Layer.mergeAll(
  ToolsLayer.pipe(Layer.provideMerge(ProjectsLayer)),
  layerRecordedStart,
  layerGivenKey
).pipe(Layer.provideMerge(FilesLayer))

/** The whole service, which needs only its settings. */
export const AppLayer = ServiceLayer.pipe(
  Layer.provideMerge(BeforeServiceLayer),
  Layer.provideMerge(RoomsLayer),
  Layer.provideMerge(SoleOwnerLayer),
  // Side by side: one waits for the database, the other one loads its client.
  Layer.provideMerge(Layer.merge(Layer.provideMerge(layerMigrations, Database.layer), Router.layer)),
  Layer.provide(NodeCrypto.layer)
)
