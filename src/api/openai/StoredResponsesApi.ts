import { Schema, SchemaTransformation } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ResponseId } from "../../domain/Ids.ts"
import { Conflict } from "../ErrorEnvelope.ts"
import { Authentication } from "../Middleware.ts"
import { describeQuery } from "../OperationDescription.ts"
import { givenId } from "./ProfileIds.ts"
import { ProfileEvent } from "./ResponseEvents.ts"
import { ResponseResource } from "./ResponseResource.ts"
import { ItemList, pageQuery, pageQueryDescription } from "./StoredItem.ts"

const params = { response_id: givenId(ResponseId, "response") }

const ResponseDeleted = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("response"),
  deleted: Schema.Literal(true)
}).annotate({ identifier: "ResponseDeleted" })

const numberWords = "the number of an event"

const get = HttpApiEndpoint.get("get", "/responses/:response_id", {
  params,
  query: {
    stream: Schema.optionalKey(Schema.Literals(["true", "false"])),
    starting_after: Schema.optionalKey(
      Schema.String.annotate({ expected: numberWords })
        .check(Schema.isPattern(/^\d{1,9}$/, { expected: numberWords }))
        .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString))
    )
  },
  success: [ResponseResource, HttpApiSchema.StreamSse({ data: ProfileEvent })],
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Show a response",
    description:
      "A response as it was answered, or as it stands. With `stream=true`, the events of one in the background, from the first one or from " +
      "the one after `starting_after` on.",
    transform: describeQuery({
      stream: { type: "boolean", default: false },
      starting_after: { type: "integer", minimum: 0, maximum: 999_999_999 }
    })
  })
)

const cancel = HttpApiEndpoint.post("cancel", "/responses/:response_id/cancel", {
  params,
  success: ResponseResource,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "Cancel a response",
    description: "Ends a response in the background that has not ended yet."
  })
)

const remove = HttpApiEndpoint.delete("delete", "/responses/:response_id", {
  params,
  success: ResponseDeleted
}).annotateMerge(
  OpenApi.annotations({
    summary: "Delete a response",
    description:
      "It can't be shown or continued any more. Other responses of its conversation keep it as their context; it is erased with the " +
      "last of them."
  })
)

const inputItems = HttpApiEndpoint.get("inputItems", "/responses/:response_id/input_items", {
  params,
  query: pageQuery,
  success: ItemList,
  error: Conflict
}).annotateMerge(
  OpenApi.annotations({
    summary: "List what a response was asked",
    description: "The last item first, unless `order` says otherwise; go on with `last_id` as `after`.",
    transform: describeQuery(pageQueryDescription)
  })
)

/** The responses that are stored. */
export class StoredResponsesApi extends HttpApiGroup.make("storedResponses")
  .add(get, remove, cancel, inputItems)
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Stored responses", description: "Show and delete responses." })
  ) {}
