import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConversationsApi } from "./ConversationsApi.ts"
import { CreateResponseBody } from "./CreateResponse.ts"
import { FilesApi } from "./FilesApi.ts"
import { Authentication, BoundedBody, DocumentAccess, Envelope } from "./Middleware.ts"
import { commonRefusals, license, servers } from "./OperationDescription.ts"
import { ProjectsApi } from "./ProjectsApi.ts"
import { ResponseEvent } from "./ResponseEvent.ts"
import { ResponseObject } from "./ResponseObject.ts"

class ResponsesApi extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/responses", {
      payload: CreateResponseBody,
      success: [ResponseObject, HttpApiSchema.StreamSse({ data: ResponseEvent })]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Answer a message",
        description:
          "Answers with an event stream, or with one JSON document when `stream` is false. Every event is sent as " +
          "`event: message` and one line of `data:`; the stream begins with `response.created` and ends with exactly " +
          "one of `response.completed` and `error`."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Responses", description: "Response generation." })) {}

const OpenApiDocument = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "OpenApiDocument",
  description: "A document of OpenAPI 3.1."
})

class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("openapi", "/openapi.json", { success: OpenApiDocument }).annotateMerge(
      OpenApi.annotations({ summary: "This description", description: "The interface as OpenAPI 3.1." })
    )
  )
  .middleware(DocumentAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "The description of the interface." })
  ) {}

/** The version of the interface; the software has a version of its own. */
export const apiVersion = "1.0.0"

/**
 * The public interface, declared once: routes, schemas, errors and the OpenAPI document all come from here.
 */
export class Api extends HttpApi.make("parley")
  .add(ResponsesApi)
  .add(ConversationsApi)
  .add(FilesApi)
  .add(ProjectsApi)
  .add(SystemApi)
  .middleware(Envelope)
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversational Response Service",
      version: apiVersion,
      description:
        "One endpoint that answers messages, and files to refer to in them. The service chooses the model, keeps the " +
        `conversations, and counts the tokens that every answer takes. ${commonRefusals}`,
      license,
      servers
    })
  ) {}
