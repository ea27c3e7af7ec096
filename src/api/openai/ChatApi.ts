import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { UnprocessableContent } from "../ErrorEnvelope.ts"
import { Authentication, BoundedBody } from "../Middleware.ts"
import { ChatBodyWithRest } from "./ChatBody.ts"
import { ChatChunk, ChatCompletion } from "./ChatCompletion.ts"

export class ChatApi extends HttpApiGroup.make("chat")
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
