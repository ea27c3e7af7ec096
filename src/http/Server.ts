import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Clock, DateTime, Duration, Effect, FiberSet, Layer, Predicate } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpIncomingMessage } from "effect/http"
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  ServerResponse,
  STATUS_CODES
} from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import * as Failure from "../api/Failure.ts"
import * as Refusal from "../api/Refusal.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { requestIdOf } from "./ErrorBoundary.ts"

interface ConnectionLimits {
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

/** Bytes of all headers of a request together. */
const headerBytesMax = 16_384

/** Whoever reads a body has a limit of its own, tells the client, and gets this much time for that. */
const graceSeconds = 5

/** How long a connection stays open between two requests. */
const keepAliveSeconds = 65

/** How often Node looks for requests that are past their time; by itself it would look every 30 seconds. */
const checkSeconds = 1

/** Streams are ended by the drain before the server closes; this bounds whatever is left. */
const closeSeconds = 2

/** How long a client that was refused may take to read why; whatever it still sends is thrown away meanwhile. */
const lingerSeconds = 2

type Response = ServerResponse<IncomingMessage>

/** A failure's headers and body, for an answer that no route gives. */
const contentOf = (failure: Failure.Failure, requestId: string) => {
  const body = JSON.stringify(Failure.envelopeOf(failure))
  const headers = {
    ...failure.headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    connection: "close",
    "x-request-id": requestId
  }
  return { body, headers }
}

/** Answers a request that reaches no route. */
const answer = Effect.fnUntraced(function* (
  request: IncomingMessage,
  response: Response,
  failure: Failure.Failure
) {
  const given = request.headers["x-request-id"]
  const random = yield* SecureRandom.SecureRandom
  const requestId = yield* requestIdOf(typeof given === "string" ? given : undefined, random)
  const { body, headers } = contentOf(failure, requestId)
  response.writeHead(failure.status, headers)
  response.end(body)
})

/** What a client hears when Node can't make a request of its bytes. `unread` tells whether only the body was to come. */
const refusalOf = (code: string, unread: boolean): Failure.Failure => {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return Failure.requestTimeout
    case "HPE_HEADER_OVERFLOW":
      return Refusal.headersTooLarge(headerBytesMax)
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return Refusal.chunkExtensionsTooLarge
    default:
      return unread ? Failure.unreadableBody : Refusal.malformedRequest
  }
}

/** Whether an error is about what a client sent, and not about the connection to it. */
const isOfClient = (code: string): boolean => code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT"

/**
 * Whether an answer written now is taken for the one to the bytes that were refused: no response may be half written,
 * and none to an earlier request may still be due.
 */
const isInTurn = (latest: Response | undefined): boolean => {
  if (latest === undefined || latest.writableFinished) return true
  if (latest.socket === null) return false
  return latest.req.complete ? latest.writableEnded : !latest.headersSent
}

/** Tells a client by hand why its bytes are refused, as no response object exists for them, and hangs up. */
const refuse = (socket: Duplex, latest: Response | undefined, code: string) =>
  Effect.gen(function* () {
    if (!isOfClient(code) || !socket.writable || !isInTurn(latest)) return
    const failure = refusalOf(code, latest?.req.complete === false)
    const { body, headers } = contentOf(failure, yield* (yield* SecureRandom.SecureRandom).uuidV7())
    const date = DateTime.toDateUtc(yield* DateTime.now).toUTCString()
    const lines = [
      `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status] ?? ""}`,
      ...Object.entries({ ...headers, date }).map(([name, value]) => `${name}: ${value}`)
    ]
    socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`)
    yield* Effect.logDebug("A request could not be read.").pipe(
      Effect.annotateLogs({ requestId: headers["x-request-id"], status: failure.status, reason: code })
    )
    yield* Effect.sleep(Duration.seconds(lingerSeconds))
  }).pipe(Effect.ensuring(Effect.sync(() => socket.destroy())))

const codeOf = (error: NodeJS.ErrnoException): string => error.code ?? ""

/**
 * A server that answers with the envelope where Node by itself answers with a bare status line: in the moment between
 * the opening of the port and the first route, to bytes that are no request or come too slowly, and to an `Expect` that
 * nobody knows.
 */
const makeNodeServer = Effect.fnUntraced(function* (options: ServerOptions) {
  const run = yield* FiberSet.makeRuntime<SecureRandom.SecureRandom>()
  const latest = new WeakMap<Duplex, Response>()

  class KnownResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...parameters)
      latest.set(this.req.socket, this)
    }
  }

  const starting = (request: IncomingMessage, response: Response) => {
    run(answer(request, response, Refusal.starting))
  }
  const server: Server = createServer({ ...options, ServerResponse: KnownResponse }, starting)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })
  server.on("checkExpectation", (request, response) => {
    run(answer(request, response, Refusal.expectationFailed))
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A client that was refused may go on sending, and each piece of it is an error again.
    if (isOfClient(codeOf(error)) && socket.writableEnded) return
    run(refuse(socket, latest.get(socket), codeOf(error)))
  })
  return server
})

/** The listening server, with a bound on everything that a client sends, and on how long it may not read. */
export const ServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { files, http } = yield* AppConfig
    const server = yield* makeNodeServer({
      maxHeaderSize: headerBytesMax,
      headersTimeout: http.headersSeconds * 1000,
      requestTimeout: (Math.max(http.requestSeconds, files.uploadSeconds) + graceSeconds) * 1000,
      keepAliveTimeout: keepAliveSeconds * 1000,
      connectionsCheckingInterval: checkSeconds * 1000,
      noDelay: true,
      // ErrorBoundary looks for it, and answers with the envelope.
      requireHostHeader: false,
      // No other protocol is spoken here, so that a request for one is a request like any other.
      shouldUpgradeCallback: () => false
    })
    yield* watchConnections(server, { checkSeconds, stallSeconds: http.writeStallSeconds })
    return NodeHttpServer.layer(() => server, {
      host: http.host,
      port: http.port,
      gracefulShutdownTimeout: Duration.seconds(closeSeconds)
    })
  })
)

/** Bounds every body that is read whole. */
export const BodySizeLayer = Layer.unwrap(
  AppConfig.use(({ http }) =>
    Effect.succeed(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(http.bodyBytesMax)))
  )
)

/** Why nothing could listen at that address now, or null; port 0 takes any that is free. */
export const portProblem = (host: string, port: number): Effect.Effect<string | null> =>
  Effect.callback<string | null>((resume) => {
    const server = createServer()
    server.once("error", (error) => {
      const code = Predicate.hasProperty(error, "code") ? error.code : null
      resume(
        Effect.succeed(
          code === "EADDRINUSE" ? `Port ${port} of ${host} is taken by another program.` : error.message
        )
      )
    })
    server.listen(port, host, () => server.close(() => resume(Effect.succeed(null))))
  })
