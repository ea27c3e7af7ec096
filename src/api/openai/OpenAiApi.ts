import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { FileId } from "../../domain/Ids.ts"
import { Conflict, UnprocessableContent } from "../ErrorEnvelope.ts"
import { fileEndpoints } from "../FilesApi.ts"
import { Authentication, BoundedBody, DocumentAccess, Envelope } from "../Middleware.ts"
import { commonRefusals, license, servers } from "../OperationDescription.ts"
import { withUnknownFields } from "../ReadInSteps.ts"
import { ChatBodyWithRest } from "./ChatBody.ts"
import { ChatChunk, ChatCompletion } from "./ChatCompletion.ts"
import { CompactApi } from "./CompactApi.ts"
import { CompletionsApi } from "./CompletionsApi.ts"
import { ConversationsApi } from "./ConversationsApi.ts"
import { CreateBody } from "./CreateBody.ts"
import { EmbeddingsApi } from "./EmbeddingsApi.ts"
import { ModelList, ModelObject } from "./ModelObject.ts"
import { givenId } from "./ProfileIds.ts"
import { ProfileEvent } from "./ResponseEvents.ts"
import { ResponseResource } from "./ResponseResource.ts"
import { StoredResponsesApi } from "./StoredResponsesApi.ts"
import { FileBatchesApi, StoreFilesApi } from "./StoreFilesApi.ts"
import { VectorSearchApi, VectorStoresApi } from "./VectorStoresApi.ts"
import { WebSocketApi } from "./WebSocketApi.ts"

class ChatApi extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("create", "/chat/completions", {
      payload: ChatBodyWithRest,
      success: [ChatCompletion, HttpApiSchema.StreamSse({ data: ChatChunk })],
      error: [UnprocessableContent]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Answer a chat",
        description:
          "Answers the last message of a chat, whose earlier messages the client sends each time. With `stream: true` the answer " +
          "comes in chunks, one `data:` line each, and ends with `data: [DONE]`. A failure after the first chunk is a line with " +
          "an `error`. Nothing is stored unless `store` is true."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Chat", description: "Chat Completions." })) {}

/** The body with its unknown fields, which a response names as ignored. */
const CreateBodyWithRest = withUnknownFields(CreateBody).annotate({
  identifier: "CreateResponseBody",
  expected: "a JSON object"
})

const InputTokens = Schema.Struct({
  object: Schema.Literal("response.input_tokens"),
  input_tokens: Schema.Int
}).annotate({ identifier: "InputTokens" })

class ResponsesApi extends HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/responses", {
      payload: CreateBodyWithRest,
      success: [ResponseResource, HttpApiSchema.StreamSse({ data: ProfileEvent })],
      error: [Conflict, UnprocessableContent]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Answer a message",
        description:
          "Answers with one JSON document, or with an event stream when `stream` is true. Every event is sent as `event:` with its " +
          "type and one line of `data:`; the stream ends with `data: [DONE]`."
      })
    ),
    HttpApiEndpoint.post("countInput", "/responses/input_tokens", {
      payload: CreateBodyWithRest,
      success: InputTokens,
      error: [Conflict, UnprocessableContent]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Count the tokens of a request",
        description:
          "The tokens of the prompt that the same body would send to its first model, with the history, the instructions and the tools. " +
          "The service's own tokenizer counts them, and the model's provider may count otherwise. No model is asked, and nothing is stored."
      })
    )
  )
  .middleware(BoundedBody)
  // Added last, so that it runs first: no body is read before the key is checked.
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Responses", description: "Response generation." })) {}

class ModelsApi extends HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/models", { success: ModelList }).annotateMerge(
      OpenApi.annotations({
        summary: "List models",
        description:
          "The models that the caller may name, and `auto`, which leaves the choice to the service."
      })
    ),
    HttpApiEndpoint.get("get", "/models/:model", {
      params: { model: Schema.String },
      success: ModelObject
    }).annotateMerge(
      OpenApi.annotations({ summary: "Inspect a model", description: "One model of the list." })
    ),
    // Ids of many servers have slashes, which not every client encodes.
    HttpApiEndpoint.get("getOfOwner", "/models/:owner/:model", {
      params: { owner: Schema.String, model: Schema.String },
      success: ModelObject
    }).annotateMerge(OpenApi.annotations({ exclude: true })),
    HttpApiEndpoint.get("getOfHost", "/models/:host/:owner/:model", {
      params: { host: Schema.String, owner: Schema.String, model: Schema.String },
      success: ModelObject
    }).annotateMerge(OpenApi.annotations({ exclude: true }))
  )
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "What a request may name." })) {}

class FilesApi extends HttpApiGroup.make("files")
  .add(...fileEndpoints(givenId(FileId, "file")))
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "Files", description: "Upload, list, inspect, download and delete files." })
  ) {}

const OpenApiDocument = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "OpenApiDocument",
  description: "A document of OpenAPI 3.1."
})

class SystemApi extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("openapi", "/openai/v1/openapi.json", { success: OpenApiDocument }).annotateMerge(
      OpenApi.annotations({ summary: "This description", description: "The interface as OpenAPI 3.1." })
    )
  )
  .middleware(DocumentAccess)
  .annotateMerge(
    OpenApi.annotations({ title: "System", description: "The description of the interface." })
  ) {}

/** The interface that clients of OpenAI assume: another rendering of what `/v1` does. */
export class OpenAiApi extends HttpApi.make("parley-openai")
  .add(ResponsesApi)
  .add(StoredResponsesApi)
  .add(CompactApi)
  .add(WebSocketApi)
  .add(ChatApi)
  .add(CompletionsApi)
  .add(ConversationsApi)
  .add(ModelsApi)
  .add(FilesApi)
  .add(EmbeddingsApi)
  .add(VectorStoresApi)
  .add(VectorSearchApi)
  .add(StoreFilesApi)
  .add(FileBatchesApi)
  .add(SystemApi)
  .middleware(Envelope)
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversational Response Service, for clients of OpenAI",
      version: "1.0.0",
      description: `The service as clients of the OpenAI interface expect it. The base URL ends with \`/openai/v1\`. ${commonRefusals}`,
      license,
      servers
    })
  ) {}
