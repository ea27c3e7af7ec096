import type { Server } from "node:http"
import type { Socket } from "node:net"
import { Clock, Duration, Effect, Predicate } from "effect"

interface ConnectionLimits {
  readonly checkSeconds: number
  /** The time for which a client may read nothing while bytes are queued for it. */
  readonly stallSeconds: number
}

/** The state of a connection when it last made progress. */
interface Progress {
  /** Bytes of finished writes. */
  readonly written: number
  /** Bytes of the current write that the operating system hasn't accepted yet. */
  readonly queued: number
  readonly at: bigint
}

/** The operating system accepts a long write in parts, which only the handle below the socket shows. */
const queuedIn = (socket: Socket): number =>
  Predicate.hasProperty(socket, "_handle") &&
  Predicate.hasProperty(socket._handle, "writeQueueSize") &&
  Predicate.isNumber(socket._handle.writeQueueSize)
    ? socket._handle.writeQueueSize
    : 0

/** Null if nothing is queued. */
const progressOf = (socket: Socket, before: Progress | null, now: bigint): Progress | null => {
  if (socket.writableLength === 0) return null
  const written = socket.bytesWritten - socket.writableLength
  const queued = queuedIn(socket)
  return before?.written === written && before.queued === queued ? before : { written, queued, at: now }
}

/**
 * Destroys connections whose client reads nothing for too long while bytes are queued for it. That interrupts
 * the handler, as a disconnect does. There is no cost per write.
 */
export const watchConnections = Effect.fnUntraced(function* (server: Server, limits: ConnectionLimits) {
  const connections = new Map<Socket, Progress | null>()
  server.on("connection", (socket: Socket) => {
    connections.set(socket, null)
    socket.once("close", () => connections.delete(socket))
  })

  const destroyStalled = (now: bigint): number => {
    const stallNanos = BigInt(limits.stallSeconds) * 1_000_000_000n
    let stalled = 0
    for (const [socket, before] of connections) {
      const progress = progressOf(socket, before, now)
      if (progress !== null && now - progress.at >= stallNanos) {
        stalled++
        // Otherwise the operating system would keep the accepted bytes and retry for minutes.
        socket.resetAndDestroy()
      } else if (progress !== before) connections.set(socket, progress)
    }
    return stalled
  }

  const check = Effect.gen(function* () {
    const stalled = destroyStalled(yield* Clock.monotonicTimeNanos)
    if (stalled > 0) {
      yield* Effect.logInfo("Disconnected clients that stopped reading.").pipe(
        Effect.annotateLogs({ connections: stalled, seconds: limits.stallSeconds })
      )
    }
  })

  yield* Effect.sleep(Duration.seconds(limits.checkSeconds)).pipe(
    Effect.andThen(check),
    Effect.forever,
    Effect.forkScoped
  )
})
