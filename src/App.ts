import { NodeCrypto } from "@effect/platform-node"
import { Layer } from "effect"
import { OperationsLayer, StartLayer } from "./admin/OperationsLayer.ts"
import { AuthLayer } from "./auth/AuthLayer.ts"
import { ConversationsLayer } from "./conversations/ConversationsLayer.ts"
import { TextEmbeddings } from "./embeddings/TextEmbeddings.ts"
import { FileStoreLayer } from "./files/FileStoreLayer.ts"
import { HttpLayer } from "./HttpLayer.ts"
import { ProjectsLayer } from "./projects/ProjectsLayer.ts"
import { ResponsesLayer } from "./responses/ResponsesLayer.ts"
import { RetrievalLayer } from "./retrieval/RetrievalLayer.ts"
import { Router } from "./routing/Router.ts"
import { DatabaseLayer } from "./sql/DatabaseLayer.ts"
import { ToolsLayer } from "./tools/ToolsLayer.ts"
import { UsageLayer } from "./usage/UsageLayer.ts"

/** The service on any models, database and store of files. */
export const ServiceLayer = HttpLayer.pipe(
  Layer.provide([ResponsesLayer, TextEmbeddings.layer]),
  Layer.provideMerge(OperationsLayer),
  Layer.provideMerge([ToolsLayer, ProjectsLayer]),
  Layer.provideMerge(RetrievalLayer)
)

/** The services that own tables of users, keys, tokens and conversations. */
export const RoomsLayer = Layer.merge(UsageLayer, ConversationsLayer).pipe(Layer.provideMerge(AuthLayer))

/** The whole service, which needs only its settings. */
export const AppLayer = ServiceLayer.pipe(
  Layer.provideMerge(StartLayer),
  Layer.provideMerge(FileStoreLayer),
  Layer.provideMerge(RoomsLayer),
  // Side by side: one waits for the database, the other one loads its client.
  Layer.provideMerge([DatabaseLayer, Router.layer]),
  Layer.provide(NodeCrypto.layer)
)
