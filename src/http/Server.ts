import { NodeHttpServer } from "@effect/platform-node"
import { ByteSize, Duration, Effect, Layer } from "effect"
import { HttpIncomingMessage } from "effect/http"
import { createServer } from "node:http"
import { AppConfig } from "../AppConfig.ts"

/** Bytes of all headers of a request together. */
const headerBytesMax = 16_384

/** How long a connection stays open between two requests. */
const keepAliveSeconds = 65

/** Streams are ended by the drain before the server closes; this bounds whatever is left. */
const closeSeconds = 2

/** The listening server, with a bound on everything that a client sends. */
export const ServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { http } = yield* AppConfig
    return NodeHttpServer.layer(
      () =>
        createServer({
          maxHeaderSize: headerBytesMax,
          headersTimeout: http.headersSeconds * 1000,
          requestTimeout: http.requestSeconds * 1000,
          keepAliveTimeout: keepAliveSeconds * 1000,
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
