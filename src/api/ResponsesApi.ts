import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authentication } from "./Authentication.ts"
import { BoundedBody } from "./BoundedBody.ts"
import { CreateResponseBody } from "./CreateResponse.ts"
import { ResponseEvent } from "./ResponseEvent.ts"
import { ResponseObject } from "./ResponseObject.ts"

export class ResponsesApi extends HttpApiGroup.make("responses")
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
  // Added last, so that it runs first: nothing of a stranger's body is read.
  .middleware(Authentication)
  .prefix("/v1")
  .annotateMerge(OpenApi.annotations({ title: "Responses", description: "Response generation." })) {}
