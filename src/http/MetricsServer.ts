import { NodeHttpServer } from "@effect/platform-node"
import { Duration, Effect, Layer, Schema } from "effect"
import { HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { AppConfig } from "../settings/AppConfig.ts"
import { metricsResponse } from "./MetricsRoute.ts"
import { MetricsText } from "./MetricsText.ts"

/** Bytes of all headers of a request together. */
const headerBytesMax = 16_384

/** In which a whole request must have arrived. */
const requestSeconds = 10

/** How often Node looks for requests that are past their time; by itself it would look every 30 seconds. */
const checkSeconds = 1

/** Scrapers keep their connections, and there are few of them. */
const connectionsMax = 100

/** How long an answer may still take when the process goes down. */
const closeSeconds = 1

/** The port for metrics can't be had. `message` is for the operator. */
export class MetricsPortUnavailable extends Schema.TaggedError<MetricsPortUnavailable>()(
  "MetricsPortUnavailable",
  { message: Schema.String }
) {}

const serverOf = () => {
  const server = createServer({
    maxHeaderSize: headerBytesMax,
    headersTimeout: requestSeconds * 1000,
    requestTimeout: requestSeconds * 1000,
    connectionsCheckingInterval: checkSeconds * 1000
  })
  server.maxConnections = connectionsMax
  return server
}

const isMetrics = ({ method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  (method === "GET" || method === "HEAD") && /^\/metrics(\?|$)/.test(url)

/** A port of their own for the metrics, which asks for no token; none unless the settings name one. */
export const MetricsServerLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { metricsHost: host, metricsPort: port } = (yield* AppConfig).observability
    if (port === null) return Layer.empty
    const { text } = yield* MetricsText
    const answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      isMetrics(request)
        ? Effect.map(text, metricsResponse)
        : Effect.succeed(HttpServerResponse.text("Only GET /metrics is here.\n", { status: 404 }))
    )
    return HttpServer.serve(answer).pipe(
      Layer.provide(
        NodeHttpServer.layer(serverOf, {
          host,
          port,
          gracefulShutdownTimeout: Duration.seconds(closeSeconds)
        })
      ),
      Layer.catchTag("ServeError", ({ cause }) =>
        Layer.effectDiscard(
          Effect.fail(
            new MetricsPortUnavailable({
              message:
                `The metrics can't be served: ${cause instanceof Error ? cause.message : String(cause)}. ` +
                "PARLEY_METRICS_HOST and PARLEY_METRICS_PORT say where to listen for them."
            })
          )
        )
      )
    )
  })
)
