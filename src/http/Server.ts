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
import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, DateTime, Duration, Effect, FiberSet, Layer, Predicate, Schema } from "effect"
import { HttpIncomingMessage, type HttpServerError } from "effect/http"
import { messagesError } from "../api/anthropic/MessagesError.ts"
import * as Failure from "../api/Failure.ts"
import { webSocketPath } from "../api/openai/WebSocketApi.ts"
import * as Refusal from "../api/Refusal.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { profileBytesMax } from "./BodyLimit.ts"
import { closeOf } from "./ConnectionEnd.ts"
import { closeSeconds, Drain } from "./Drain.ts"
import { requestIdOf } from "./ErrorBoundary.ts"
import { isOfMessages, isOfProfile } from "./ProfileErrors.ts"
import { watchConnections } from "./StalledClients.ts"

/** Longest headers of a request, together. */
const headerBytesMax = 16_384

/** The readers of bodies have shorter timeouts of their own; this leaves them time to answer the client. */
const graceSeconds = 5

const keepAliveSeconds = 65

/** Interval at which Node checks for requests that have timed out; its default is 30 seconds. */
const checkSeconds = 1

/** The time that a refused client may take to read the response; its further bytes are discarded. */
const lingerSeconds = 2

type Response = ServerResponse<IncomingMessage>

/** The headers and body of a response that bypasses the routes. */
const contentOf = (failure: Failure.Failure, requestId: string, path = "") => {
  const { detail, error } = Failure.envelopeOf(failure)
  const ofMessages = isOfMessages(path)
  const body = JSON.stringify(
    ofMessages
      ? { ...messagesError(failure), request_id: requestId }
      : { detail, error: isOfProfile(path) ? { ...error, param: error.param || null } : error }
  )
  const headers = {
    ...failure.headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    connection: "close",
    "x-request-id": requestId,
    ...(ofMessages ? { "request-id": requestId } : {})
  }
  return { body, headers }
}

const answer = (request: IncomingMessage, response: Response, failure: Failure.Failure): void => {
  const given = request.headers["x-request-id"]
  const requestId = requestIdOf(typeof given === "string" ? given : undefined)
  const { body, headers } = contentOf(failure, requestId, request.url)
  response.writeHead(failure.status, headers)
  response.end(body)
}

/** The failure for an error of Node's parser; `unread` if the headers were complete and the body was not. */
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

/** True if the client caused the error by what it sent, rather than the connection. */
const isOfClient = (code: string): boolean => code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT"

/**
 * True if the client would take a response written now for the one to the refused bytes: no response is half
 * written, and no earlier request still waits for its response.
 */
const isInTurn = (latest: Response | null): boolean => {
  if (latest === null || latest.writableFinished) return true
  if (latest.socket === null) return false
  return latest.req.complete ? latest.writableEnded : !latest.headersSent
}

/** Completes when the response is over, or the connection. */
const over = (socket: Duplex, response: Response): Effect.Effect<void> =>
  Effect.raceFirst(closeOf(response), closeOf(socket))

/**
 * Writes the response to the socket, because there is no response object, and closes the connection. An
 * earlier response that is under way is sent to its end before.
 */
const refuse = (socket: Duplex, latest: Response | null, code: string) =>
  Effect.gen(function* () {
    if (!isOfClient(code)) return
    if (latest !== null && !isInTurn(latest)) yield* over(socket, latest)
    if (!socket.writable) return
    const failure = refusalOf(code, latest?.req.complete === false)
    const path = latest?.req.complete === false ? latest.req.url : ""
    const { body, headers } = contentOf(failure, requestIdOf(undefined), path)
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
 * A server that answers with the envelope where Node would answer with a bare status line: between the
 * opening of the port and the first route, to bytes that are no request or arrive too slowly, and to an
 * unknown `Expect`.
 */
const makeNodeServer = Effect.fnUntraced(function* (options: ServerOptions) {
  const run = yield* FiberSet.makeRuntime()
  /**
   * The latest response of each connection; null once both it and its request are over, so that an idle
   * connection keeps nothing of them.
   */
  const latest = new WeakMap<Duplex, Response | null>()

  class TrackedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: ConstructorParameters<typeof ServerResponse<Request>>) {
      super(...parameters)
      latest.set(this.req.socket, this)
    }

    override detachSocket(socket: Socket): void {
      super.detachSocket(socket)
      if (this.req.complete && latest.get(socket) === this) latest.set(socket, null)
    }
  }

  const starting = (request: IncomingMessage, response: Response) => {
    answer(request, response, Refusal.starting)
  }
  const server: Server = createServer({ ...options, ServerResponse: TrackedResponse }, starting)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })
  server.on("checkExpectation", (request, response) => {
    answer(request, response, Refusal.expectationFailed)
  })
  const refused = new WeakSet<Duplex>()
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (isOfClient(codeOf(error))) {
      // A refused client may continue to send, and each chunk is an error again.
      if (refused.has(socket)) return
      refused.add(socket)
    }
    run(refuse(socket, latest.get(socket) ?? null, codeOf(error)))
  })
  return server
})

/** A port beside the service's own can't be opened. `message` is for the operator. */
class PortUnavailable extends Schema.TaggedError<PortUnavailable>()("PortUnavailable", {
  message: Schema.String
}) {}

/** Explains why a port can't be opened, with the settings that name it. */
export const portUnavailable =
  (what: string, settings: string) =>
  ({ cause }: HttpServerError.ServeError): PortUnavailable =>
    new PortUnavailable({
      message:
        `${what} can't be served: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        `${settings} say where to listen for that.`
    })

/** A host and a port, or the path of a Unix socket. */
type ListenAt = { readonly host: string; readonly port: number } | { readonly path: string }

const serverAt = Effect.fnUntraced(function* (at: ListenAt, upgradePath: string | null) {
  const { files, http } = yield* AppConfig
  const server = yield* makeNodeServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: http.headersSeconds * 1000,
    requestTimeout: (Math.max(http.requestSeconds, files.uploadSeconds) + graceSeconds) * 1000,
    keepAliveTimeout: keepAliveSeconds * 1000,
    connectionsCheckingInterval: checkSeconds * 1000,
    noDelay: true,
    // ErrorBoundary checks for it and answers with the envelope.
    requireHostHeader: false,
    // Another request to upgrade is handled like any other request.
    shouldUpgradeCallback: ({ headers, method, url }) =>
      method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && url?.split("?")[0] === upgradePath
  })
  yield* watchConnections(server, { checkSeconds, stallSeconds: http.writeStallSeconds })
  yield* (yield* Drain).closes(server)
  return NodeHttpServer.layer(() => server, {
    ...at,
    websocket: { maxPayload: profileBytesMax(http) },
    gracefulShutdownTimeout: Duration.seconds(closeSeconds)
  })
})

/** The server for users. */
export const ServerLayer = Layer.unwrap(
  AppConfig.use(({ http }) => serverAt({ host: http.host, port: http.port }, webSocketPath))
)

/** The server for the operator on a port of its own. */
export const adminServerAt = (port: number) =>
  Layer.unwrap(AppConfig.use(({ http }) => serverAt({ host: http.adminHost, port }, null))).pipe(
    Layer.catchTag("ServeError", (error) =>
      Layer.effectContext(
        portUnavailable("The operator's interface", "PARLEY_ADMIN_HOST and PARLEY_ADMIN_PORT")(error)
      )
    )
  )

/** Serves the operator at a Unix socket. */
export const socketServerAt = (path: string) => Layer.unwrap(serverAt({ path }, null))

/** Limits every body that is read whole. */
export const BodySizeLayer = Layer.unwrap(
  AppConfig.use(({ http }) =>
    Effect.succeed(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(profileBytesMax(http))))
  )
)

/** Why the address can't be listened at now, or null; port 0 is any free port. */
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
