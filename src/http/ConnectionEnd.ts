import type { Duplex, Writable } from "node:stream"
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Completes when the stream has closed. */
export const closeOf = (stream: Duplex | Writable): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    stream.once("close", done)
    if (stream.closed) done()
    return Effect.sync(() => stream.off("close", done))
  })

/** Completes when the connection of a request has closed, even if no message is read from it. */
export const connectionEnd = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> =>
  Effect.suspend(() => closeOf(toIncomingMessage(request).socket))
