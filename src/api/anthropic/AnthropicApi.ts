import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BoundedBody, Envelope } from "../Middleware.ts"
import { commonRefusals, license, servers } from "../OperationDescription.ts"
import { Message, MessageEvent } from "./Message.ts"
import { MessagesBodyWithRest } from "./MessagesBody.ts"
import { Overloaded } from "./MessagesError.ts"
import { KeyAuthentication, KeyedDocumentAccess } from "./Middleware.ts"

const TokenCount = Schema.Struct({
  /** An estimate, rather too high than too low. */
  input_tokens: Schema.Int
}).annotate({ identifier: "TokenCount" })

class MessagesApi extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/messages", {
      payload: MessagesBodyWithRest,
      success: [Message, HttpApiSchema.StreamSse({ data: MessageEvent })],
      error: Overloaded
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Answer a conversation",
        description:
          "Answers the last message of a conversation, whose earlier messages the client sends each time. With `stream: true` the " +
          "answer comes as events, each as `event:` with its type and one line of `data:`. A failure after the first of them is the " +
          "event `error`. Nothing is stored."
      })
    ),
    HttpApiEndpoint.post("countTokens", "/messages/count_tokens", {
      payload: MessagesBodyWithRest,
      success: TokenCount
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Count the tokens of a conversation",
        description: "Estimates the tokens of the prompt that the same body would make. No model is asked."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(KeyAuthentication)
  .prefix("/anthropic/v1")
  .annotateMerge(OpenApi.annotations({ title: "Messages", description: "Messages." })) {}

export const ModelInfo = Schema.Struct({
  type: Schema.Literal("model"),
  id: Schema.String,
  display_name: Schema.String,
  /** The beginning of 1970, because it is not known. */
  created_at: Schema.String,
  max_input_tokens: Schema.NullOr(Schema.Int),
  max_tokens: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "ModelInfo" })
export type ModelInfo = typeof ModelInfo.Type

const ModelInfoList = Schema.Struct({
  data: Schema.Array(ModelInfo),
  has_more: Schema.Literal(false),
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ModelInfoList", description: "All models that the caller's plan permits." })

class ModelsApi extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/models", { success: ModelInfoList }).annotateMerge(
      OpenApi.annotations({
        summary: "List models",
        description:
          "The models that the caller may name, and `auto`, which leaves the choice to the service. The list is never cut."
      })
    ),
    HttpApiEndpoint.get("get", "/models/:model", {
      params: { model: Schema.String },
      success: ModelInfo
    }).annotateMerge(
      OpenApi.annotations({ summary: "Inspect a model", description: "One model of the list." })
    ),
    // Ids of many servers have slashes, which not every client encodes.
    HttpApiEndpoint.get("getOfOwner", "/models/:owner/:model", {
      params: { owner: Schema.String, model: Schema.String },
      success: ModelInfo
    }).annotateMerge(OpenApi.annotations({ exclude: true })),
    HttpApiEndpoint.get("getOfHost", "/models/:host/:owner/:model", {
      params: { host: Schema.String, owner: Schema.String, model: Schema.String },
      success: ModelInfo
    }).annotateMerge(OpenApi.annotations({ exclude: true }))
  )
  .middleware(KeyAuthentication)
  .prefix("/anthropic/v1")
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "What a request may name." })) {}

const OpenApiDocument = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "OpenApiDocument",
  description: "A document of OpenAPI 3.1."
})

class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("openapi", "/anthropic/v1/openapi.json", { success: OpenApiDocument }).annotateMerge(
      OpenApi.annotations({ summary: "This description", description: "The interface as OpenAPI 3.1." })
    )
  )
  .middleware(KeyedDocumentAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "The description of the interface." })
  ) {}

/** The interface that clients of Anthropic assume: a third rendering of what `/v1` does. */
export class AnthropicApi extends HttpApi.make("parley-anthropic")
  .add(MessagesApi)
  .add(ModelsApi)
  .add(SystemApi)
  .middleware(Envelope)
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversational Response Service, for clients of Anthropic",
      version: "1.0.0",
      description: `The service as clients of Anthropic's Messages expect it. The base URL ends with \`/anthropic\`. ${commonRefusals}`,
      license,
      servers
    })
  ) {}
