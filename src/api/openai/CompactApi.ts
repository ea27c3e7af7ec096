import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { StorableText } from "../../domain/StorableText.ts"
import { Conflict } from "../ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { WholeUsage } from "../ResponseObject.ts"
import { CreateBody } from "./CreateBody.ts"

const { input, instructions, previous_response_id, prompt_cache_key } = CreateBody.fields

export const CompactBody = Schema.Struct({
  model: StorableText.annotate({ description: "A model of GET /openai/v1/models, or `auto`." }),
  input: Schema.optional(Schema.NullOr(input)),
  instructions,
  previous_response_id,
  prompt_cache_key
}).annotate({ identifier: "CompactBody", expected: "a JSON object" })
export type CompactBody = typeof CompactBody.Type

const BodyWithRest = withUnknownFields(CompactBody).annotate({
  identifier: "CompactBody",
  expected: "a JSON object"
})

export const CompactedResponse = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("response.compaction"),
  /** Unix epoch in seconds. */
  created_at: Schema.Int,
  /** The items that take the place of the whole input, and of what came before it. */
  output: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      type: Schema.Literal("compaction"),
      /** To be sent back as it is. It is encoded, and not encrypted. */
      encrypted_content: Schema.String
    })
  ),
  usage: WholeUsage
}).annotate({ identifier: "CompactedResponse" })
export type CompactedResponse = typeof CompactedResponse.Type

export class CompactApi extends HttpApiGroup.make("compact")
  .add(
    HttpApiEndpoint.post("create", "/responses/compact", {
      payload: BodyWithRest,
      success: CompactedResponse,
      error: Conflict
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Compact a conversation",
        description:
          "A model summarizes the input, and what came before it where `previous_response_id` is given. The next request sends the items of " +
          "`output` in their place. Nothing is stored."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Compaction", description: "Shorten conversations." })) {}
