import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Duration, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"
import { createServer, type RequestListener, type ServerOptions } from "node:http"
import * as Failure from "../api/Failure.ts"
import { AppConfig } from "../AppConfig.ts"

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

/** Answers whoever comes in the moment between the opening of the port and the first route. */
const starting: RequestListener = (_request, response) => {
  const { body, headers, status } = Failure.starting
  response.writeHead(status, { ...headers, "content-type": "application/json" })
  response.end(JSON.stringify({ detail: body.message, error: body }))
}

/** A server that refuses requests until something else handles them; none is ever left without an answer. */
const createPatientServer = (options: ServerOptions) => {
  const server = createServer(options, starting)
  server.on("newListener", (event) => {
    if (event === "request") server.off("request", starting)
  })
  return server
}

/** The listening server, with a bound on everything that a client sends. */
export const ServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { files, http } = yield* AppConfig
    return NodeHttpServer.layer(
      () =>
        createPatientServer({
          maxHeaderSize: headerBytesMax,
          headersTimeout: http.headersSeconds * 1000,
          requestTimeout: (Math.max(http.requestSeconds, files.uploadSeconds) + graceSeconds) * 1000,
          keepAliveTimeout: keepAliveSeconds * 1000,
          connectionsCheckingInterval: checkSeconds * 1000,
          noDelay: true
        }),
      { host: http.host, port: http.port, gracefulShutdownTimeout: Duration.seconds(closeSeconds) }
    )
  })
)

/** Bounds every body that is read whole. */
export const BodySizeLayer = Layer.unwrap(
  AppConfig.use(({ http }) =>
    Effect.succeed(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(http.bodyBytesMax)))
  )
)
