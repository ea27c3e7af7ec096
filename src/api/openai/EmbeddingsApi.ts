import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { expectedStorable, isStorable } from "../../domain/storable.ts"
import { StorableText } from "../../domain/StorableText.ts"
import { UnprocessableContent } from "../ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { Label, maybe, positiveInteger } from "./Fields.ts"

const textsMax = 2_048

const noTokens =
  "lists of tokens are not taken (in LangChain for Python, set `check_embedding_ctx_length=False`)"

const Text = Schema.String.annotate({ expected: `a text: ${noTokens}` }).check(
  Schema.makeFilter(isStorable, { expected: expectedStorable }),
  Schema.isMinLength(1, { expected: "a text that is not empty" })
)

const expected = `a text, or a list of at most ${textsMax} texts, none of which is empty: ${noTokens}`

export const EmbeddingsBody = Schema.Struct({
  input: Schema.Union([
    Text,
    Schema.Array(Text).check(
      Schema.isMinLength(1, { expected: "a list with at least one text" }),
      Schema.isMaxLength(textsMax, { expected: `a list of at most ${textsMax} texts` })
    )
  ]).annotate({ expected }),
  model: maybe(StorableText).annotate({
    description: "The model of the service's embeddings; `auto`, or none, is the same."
  }),
  encoding_format: maybe(Schema.Literals(["float", "base64"]).annotate({ expected: "float or base64" })),
  dimensions: maybe(positiveInteger),
  user: maybe(Label)
}).annotate({ identifier: "CreateEmbeddingsBody", expected: "a JSON object" })

const BodyWithRest = withUnknownFields(EmbeddingsBody).annotate({
  identifier: "CreateEmbeddingsBody",
  expected: "a JSON object"
})

export const EmbeddingList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      object: Schema.Literal("embedding"),
      index: Schema.Int,
      /** The numbers have four bytes each in base64, the lowest first. */
      embedding: Schema.Union([Schema.Array(Schema.Finite), Schema.String])
    })
  ),
  model: Schema.String,
  usage: Schema.Struct({ prompt_tokens: Schema.Int, total_tokens: Schema.Int })
}).annotate({ identifier: "EmbeddingList" })
export type EmbeddingList = typeof EmbeddingList.Type

export class EmbeddingsApi extends HttpApiGroup.make("embeddings")
  .add(
    HttpApiEndpoint.post("create", "/embeddings", {
      payload: BodyWithRest,
      success: EmbeddingList,
      error: [UnprocessableContent]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Embed texts",
        description:
          "Vectors of texts, by the server of embeddings that is set for this service (PARLEY_EMBEDDINGS_URL). Their tokens count to " +
          "the limits of the user. With an `Idempotency-Key` the same request gets the same answer again for 24 hours."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Embeddings", description: "Vectors of texts." })) {}
