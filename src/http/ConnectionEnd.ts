import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Completes when the connection of a request has closed, also where nobody reads what the client sends. */
export const connectionEnd = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const { socket } = toIncomingMessage(request)
    const end = () => resume(Effect.void)
    socket.once("close", end)
    if (socket.destroyed) end()
    return Effect.sync(() => socket.off("close", end))
  })
