import { ServerResponse } from "node:http"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { type Clock, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

const keepaliveComment = ": keepalive\n\n"

/** The servers of this room speak HTTP/1.1. */
const responseTo = (request: HttpServerRequest.HttpServerRequest): ServerResponse => {
  const response = toServerResponse(request)
  if (response instanceof ServerResponse) return response
  throw new Error("A response of another protocol than HTTP/1.1 can't be streamed.")
}

/**
 * The client of one stream: whole frames in, in order. A piece of a chunked body goes to the socket as one string, where Node would
 * write its length, its text and its end as four (docs/decisions/delivery.md). What isn't chunked, has no connection yet because an
 * earlier response on it is still being written, or has one that is being closed, goes Node's way.
 */
export const makeFrameOutput = (request: HttpServerRequest.HttpServerRequest, clock: Clock.Clock) => {
  const response = responseTo(request)
  let hasBegun = false
  let wroteAt = clock.currentTimeMillisUnsafe()

  const isBlocked = (): boolean => response.writableNeedDrain || response.socket?.writableNeedDrain === true

  /** Whether more may be written at once. With `isLast`, the frames leave together with the end of the body, which follows at once. */
  const push = (frames: string, isLast = false): boolean => {
    // An empty chunk would end the body.
    if (frames === "") return !isBlocked()
    const { socket } = response
    wroteAt = clock.currentTimeMillisUnsafe()
    if (isLast && socket !== null) {
      socket.cork()
      process.nextTick(() => socket.uncork())
    }
    if (!hasBegun || socket?.writable !== true || !response.chunkedEncoding) {
      // The first frames go out with the headers. Node holds them back until the work of this turn is done, or more follow.
      hasBegun = true
      return response.write(frames)
    }
    const isReady = socket.write(`${Buffer.byteLength(frames).toString(16)}\r\n${frames}\r\n`)
    if (!isLast) socket.uncork()
    return isReady
  }

  /** Completes when the client has read enough that more may be written. */
  const drained = Effect.callback<void>((resume) => {
    const { socket } = response
    const blocked = response.writableNeedDrain ? response : socket
    if (blocked === null || !isBlocked()) return resume(Effect.void)
    const done = () => resume(Effect.void)
    blocked.once("drain", done)
    return Effect.sync(() => blocked.off("drain", done))
  })

  /** Writes a comment after so long a time without a frame, between the first one and the end of the body. */
  const keepAlive = (silenceMillis: number): void => {
    if (!hasBegun || clock.currentTimeMillisUnsafe() - wroteAt < silenceMillis) return
    // A client that doesn't read needs no comment.
    if (!response.writableEnded && !isBlocked()) push(keepaliveComment)
  }

  return { push, isBlocked, drained, keepAlive }
}

export type FrameOutput = ReturnType<typeof makeFrameOutput>
