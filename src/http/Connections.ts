import { Clock, Duration, Effect, Predicate } from "effect"
import type { Server } from "node:http"
import type { Socket } from "node:net"

export interface ConnectionLimits {
  /** How often the connections are looked at. */
  readonly checkSeconds: number
  /** How long a client may take none of the bytes that wait for it. */
  readonly stallSeconds: number
}

/** How far a connection had got when it was seen to move for the last time. */
interface Progress {
  /** Bytes of finished writes. */
  readonly written: number
  /** Bytes of the write under way that the system hasn't taken yet. */
  readonly queued: number
  readonly at: bigint
}

/** A long write is taken in pieces, which only the handle below the socket tells. */
const queuedIn = (socket: Socket): number =>
  Predicate.hasProperty(socket, "_handle") &&
  Predicate.hasProperty(socket._handle, "writeQueueSize") &&
  Predicate.isNumber(socket._handle.writeQueueSize)
    ? socket._handle.writeQueueSize
    : 0

/** The progress as it is now; null when nothing waits to be written. */
const progressOf = (socket: Socket, before: Progress | null, now: bigint): Progress | null => {
  if (socket.writableLength === 0) return null
  const written = socket.bytesWritten - socket.writableLength
  const queued = queuedIn(socket)
  return before?.written === written && before.queued === queued ? before : { written, queued, at: now }
}

/**
 * Gives up clients that don't read: a connection that takes none of the bytes which wait for it, for longer than it may,
 * is destroyed, whatever the response. That interrupts whoever writes the response, as when the client had gone away.
 * It costs nothing for each write.
 */
export const watchConnections = Effect.fnUntraced(function* (server: Server, limits: ConnectionLimits) {
  const connections = new Map<Socket, Progress | null>()
  server.on("connection", (socket: Socket) => {
    connections.set(socket, null)
    socket.once("close", () => connections.delete(socket))
  })

  const giveUp = (now: bigint): number => {
    const stallNanos = BigInt(limits.stallSeconds) * 1_000_000_000n
    let stalled = 0
    for (const [socket, before] of connections) {
      const progress = progressOf(socket, before, now)
      if (progress !== null && now - progress.at >= stallNanos) {
        stalled++
        // The system would otherwise keep what it has already taken, and offer it to the client for minutes.
        socket.resetAndDestroy()
      } else if (progress !== before) connections.set(socket, progress)
    }
    return stalled
  }

  const check = Effect.gen(function* () {
    const stalled = giveUp(yield* Clock.monotonicTimeNanos)
    if (stalled > 0) {
      yield* Effect.logInfo("Clients that stopped reading were given up.").pipe(
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
