import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Layer } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AdminApi } from "./admin/AdminApi.ts"
import { AdminRoutes } from "./admin/AdminHandlers.ts"
import { AdminKey } from "./admin/AdminKey.ts"
import { FirstStart } from "./admin/FirstStart.ts"
import { Api } from "./api/Api.ts"
import { Accounts } from "./auth/Accounts.ts"
import { ApiKeys } from "./auth/ApiKeys.ts"
import { Onboarding } from "./auth/Onboarding.ts"
import { Policy } from "./auth/Policy.ts"
import { Conversations } from "./conversations/Conversations.ts"
import { BlobStore } from "./files/BlobStore.ts"
import { FileStore } from "./files/FileStore.ts"
import { TextExtraction } from "./files/TextExtraction.ts"
import { AuthenticationLayer, DocumentAccessLayer } from "./http/AuthenticationLayer.ts"
import { BodyBoundsLayer } from "./http/BodyBounds.ts"
import { Drain } from "./http/Drain.ts"
import * as ErrorBoundary from "./http/ErrorBoundary.ts"
import { FilesHandlers } from "./http/FilesHandlers.ts"
import { ResponsesHandlers } from "./http/ResponsesHandlers.ts"
import { BodySizeLayer, ServerLayer } from "./http/Server.ts"
import { SystemHandlers, SystemRoutes, systemRoutes } from "./http/SystemHandlers.ts"
import { Router } from "./models/Router.ts"
import { pooledRandomLayer } from "./PooledRandom.ts"
import { Responses } from "./responses/Responses.ts"
import { Database } from "./sql/Database.ts"
import { layerMigrations } from "./sql/Migrations.ts"
import { Usage } from "./usage/Usage.ts"

/** The rooms that keep something, on a database that is up and migrated. */
export const RoomsLayer = Layer.mergeAll(
  Onboarding.layer.pipe(Layer.provideMerge(Accounts.layer), Layer.provideMerge(ApiKeys.layer)),
  Conversations.layer,
  Policy.layer,
  Usage.layer
)

/** The files of the users, in the store that the settings name. */
export const FilesLayer = FileStore.layer.pipe(
  Layer.provide([BlobStore.layer, TextExtraction.layer]),
  Layer.provide(NodeServices.layer)
)

const knownRoutes = [...ErrorBoundary.routesOf(Api), ...ErrorBoundary.routesOf(AdminApi), ...systemRoutes]

/** The public interface, the operator's side, and what surrounds them. */
const Routes = Layer.mergeAll(
  HttpApiBuilder.layer(Api).pipe(
    Layer.provide([ResponsesHandlers, FilesHandlers, SystemHandlers]),
    Layer.provide([AuthenticationLayer, DocumentAccessLayer, BodyBoundsLayer, ErrorBoundary.EnvelopeLayer])
  ),
  AdminRoutes.pipe(Layer.provide([AdminKey.layer, BodyBoundsLayer, ErrorBoundary.EnvelopeLayer])),
  SystemRoutes,
  ErrorBoundary.layer(knownRoutes)
).pipe(Layer.provide(BodySizeLayer))

/** The interfaces over whatever database, models and rooms they are given. The port is opened last. */
export const ServiceLayer = HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(ServerLayer),
  Layer.provide(Responses.layer),
  Layer.provideMerge(Drain.layer)
)

/** The whole service. It needs its settings, and nothing else. */
export const AppLayer = ServiceLayer.pipe(
  Layer.provideMerge(FirstStart.layer),
  Layer.provideMerge(FilesLayer),
  Layer.provideMerge(RoomsLayer),
  Layer.provideMerge(Router.layer),
  Layer.provideMerge(Layer.provideMerge(layerMigrations, Database.layer)),
  Layer.provide(Layer.provideMerge(pooledRandomLayer, NodeCrypto.layer))
)
