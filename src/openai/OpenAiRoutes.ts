import { Effect, Layer, Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { OpenAiApi } from "../api/openai/OpenAiApi.ts"
import { openApiDocumentOf } from "../api/OpenApiDocument.ts"
import { makeFilesHandlers } from "../http/FilesHandlers.ts"
import { ChatHandlers } from "./ChatHandlers.ts"
import { CompactHandlers } from "./CompactHandlers.ts"
import { CompletionsHandlers } from "./CompletionsHandlers.ts"
import { ConversationsHandlers } from "./ConversationsHandlers.ts"
import { EmbeddingsHandlers } from "./EmbeddingsHandlers.ts"
import { ModelsHandlers } from "./ModelsHandlers.ts"
import { ResponsesHandlers } from "./ResponsesHandlers.ts"
import { StoredResponsesHandlers } from "./StoredResponsesHandlers.ts"
import { FileBatchesHandlers, StoreFilesHandlers } from "./StoreFilesHandlers.ts"
import { VectorSearchHandlers, VectorStoresHandlers } from "./VectorStoresHandlers.ts"
import { WebSocketHandlers } from "./WebSocketHandlers.ts"

const FilesHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "files",
  Effect.fn(function* (handlers) {
    return handlers.handleAll(yield* makeFilesHandlers)
  })
)

/** Describes errors as `withNullParam` writes them: an error that names no field has null there. */
const described = () => {
  const document = OpenApi.fromApi(OpenAiApi)
  const { properties } = document.components.schemas["ErrorBody"] ?? {}
  if (Predicate.hasProperty(properties, "param")) properties.param = { type: ["string", "null"] }
  return document
}

/** The document is derived when it is first asked for: that takes as long as a tenth of a start. */
const SystemHandlers = HttpApiBuilder.group(
  OpenAiApi,
  "system",
  Effect.fn(function* (handlers) {
    const document = yield* Effect.cached(
      Effect.sync(() => HttpServerResponse.jsonUnsafe(openApiDocumentOf(described())))
    )
    return handlers.handle("openapi", () => document)
  })
)

/** The second profile, under /openai/v1. */
export const OpenAiRoutes = HttpApiBuilder.layer(OpenAiApi).pipe(
  Layer.provide([
    ResponsesHandlers,
    StoredResponsesHandlers,
    CompactHandlers,
    WebSocketHandlers,
    ChatHandlers,
    CompletionsHandlers,
    ConversationsHandlers,
    ModelsHandlers,
    FilesHandlers,
    EmbeddingsHandlers,
    VectorStoresHandlers,
    VectorSearchHandlers,
    StoreFilesHandlers,
    FileBatchesHandlers,
    SystemHandlers
  ])
)
