import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authentication, KeepsConnection } from "../Middleware.ts"

/** Where a WebSocket may be opened. */
export const webSocketPath = "/openai/v1/responses"

export class WebSocketApi extends HttpApiGroup.make("webSocket")
  .add(
    HttpApiEndpoint.get("connect", "/responses", { success: Schema.Void })
      .annotate(KeepsConnection, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Connect by WebSocket",
          description:
            'Opens a WebSocket. Each text message `{"type": "response.create", …}` has the fields of POST /openai/v1/responses and is ' +
            "answered by the events of its stream, one JSON message each; messages are answered one after the other. What can't be " +
            "answered gets an `error` event, and the connection stays open."
        })
      )
  )
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "WebSocket", description: "Responses over one connection." })
  ) {}
