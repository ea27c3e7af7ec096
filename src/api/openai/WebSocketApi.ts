import { Predicate, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authentication, KeepsConnection } from "../Middleware.ts"

/** The path at which a WebSocket may be opened. */
export const webSocketPath = "/openai/v1/responses"

/** The endpoint answers with a connection, and never with a body. */
const switchesProtocols = (operation: Readonly<Record<string, unknown>>) => {
  const described = Predicate.isObject(operation["responses"]) ? Object.entries(operation["responses"]) : []
  const failures = Object.fromEntries(described.filter(([status]) => status !== "200"))
  return {
    ...operation,
    responses: { 101: { description: "The connection is a WebSocket now." }, ...failures }
  }
}

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
            "answered gets an `error` event, and the connection stays open.",
          transform: switchesProtocols
        })
      )
  )
  .middleware(Authentication)
  .prefix("/openai/v1")
  .annotateMerge(
    OpenApi.annotations({ title: "WebSocket", description: "Responses over one connection." })
  ) {}
