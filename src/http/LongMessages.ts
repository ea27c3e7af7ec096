import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/**
 * Bytes of a WebSocket message that are received before there is room for it. More than short messages and
 * one read of the socket can have together, so that a message is long where so many bytes came since the one
 * before.
 */
const unreservedBytesMax = 262_144

/**
 * Stops reading the connection of a request within each long message, which is told to `onLong`, until the
 * rest is admitted.
 */
export const watchLongMessages = (request: HttpServerRequest.HttpServerRequest, onLong: () => void) =>
  Effect.gen(function* () {
    const { socket } = toIncomingMessage(request)
    /** Bytes since the last message. */
    let bytes = 0
    let state: "short" | "held" | "admitted" = "short"
    /** True if the socket would be read if it weren't held. */
    let isWanted = false

    const onData = (piece: Uint8Array) => {
      bytes += piece.length
      if (state !== "short" || bytes <= unreservedBytesMax) return
      state = "held"
      isWanted = !socket.isPaused()
      socket.pause()
      onLong()
    }
    // The library resumes the socket after each piece that it has taken.
    const onResume = () => {
      if (state !== "held") return
      isWanted = true
      socket.pause()
    }
    const release = (next: typeof state) => {
      const isHeld = state === "held"
      state = next
      if (isHeld && isWanted) socket.resume()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => socket.on("data", onData).on("resume", onResume)),
      () => Effect.sync(() => socket.off("data", onData).off("resume", onResume))
    )

    return {
      /** Ends the connection at once: a client may take its time to answer a proper end. */
      end: Effect.sync(() => void socket.destroy()),
      /** Reads the rest of the message that is held, if one is. */
      admit: Effect.sync(() => {
        if (state === "held") release("admitted")
      }),
      /** Must be called for every message that has arrived. */
      arrived: Effect.sync(() => {
        bytes = 0
        release("short")
      })
    }
  })
