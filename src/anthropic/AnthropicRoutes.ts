import { Effect, Layer, Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { AnthropicApi } from "../api/anthropic/AnthropicApi.ts"
import { openApiDocumentOf, withoutUnused } from "../api/OpenApiDocument.ts"
import { MessagesHandlers } from "./MessagesHandlers.ts"
import { ModelsHandlers } from "./ModelsHandlers.ts"

/** With the envelope that errors have here in the place of the one that `inWordsOf` turns into it. */
const described = () => {
  const document = OpenApi.fromApi(AnthropicApi)
  const { schemas } = document.components
  for (const schema of Object.values(schemas)) {
    if (!Predicate.hasProperty(schema["properties"], "detail")) continue
    for (const name of Object.keys(schema)) if (name !== "description") delete schema[name]
    schema["$ref"] = "#/components/schemas/MessagesError"
  }
  return document
}

/** The document is derived when it is first asked for: that takes as long as a tenth of a start. */
const SystemHandlers = HttpApiBuilder.group(
  AnthropicApi,
  "system",
  Effect.fn(function* (handlers) {
    const document = yield* Effect.cached(
      Effect.sync(() => HttpServerResponse.jsonUnsafe(withoutUnused(openApiDocumentOf(described()))))
    )
    return handlers.handle("openapi", () => document)
  })
)

/** The third profile, under /anthropic/v1. */
export const AnthropicRoutes = HttpApiBuilder.layer(AnthropicApi).pipe(
  Layer.provide([MessagesHandlers, ModelsHandlers, SystemHandlers])
)
