import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DocumentAccess } from "./Authentication.ts"

/** An OpenAPI document; its own shape is the OpenAPI specification's business. */
const OpenApiDocument = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "OpenApiDocument",
  description: "A document of OpenAPI 3.1."
})

export class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("openapi", "/openapi.json", { success: OpenApiDocument }).annotateMerge(
      OpenApi.annotations({ summary: "This description", description: "The interface as OpenAPI 3.1." })
    )
  )
  .middleware(DocumentAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "The description of the interface." })
  ) {}
