import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Duration, Effect, Layer, Metric, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hash } from "../auth/KeyToken.ts"
import { MetricsTokenRejected } from "../domain/Errors.ts"
import { type ProviderHealth, providerStates } from "../domain/Model.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import * as Instruments from "../telemetry/Instruments.ts"
import { authorizationHeader } from "./Authentication.ts"
import { respondTo } from "./ErrorBoundary.ts"
import { portUnavailable } from "./Server.ts"

/** Interval at which provider health is refreshed for export by OTLP; a scrape refreshes it itself. */
const refreshSeconds = 10

const show = ({ provider, running, state, waiting }: ProviderHealth): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const one of providerStates) {
      yield* Metric.update(Instruments.providerState.of(provider, one), one === state ? 1 : 0)
    }
    yield* Metric.update(Instruments.providerRunning.of(provider), running)
    yield* Metric.update(Instruments.providerWaiting.of(provider), waiting)
  })

/** A provider that a reloaded catalog doesn't have any more is in no state. */
const hide = (provider: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const one of providerStates) yield* Metric.update(Instruments.providerState.of(provider, one), 0)
    yield* Metric.update(Instruments.providerRunning.of(provider), 0)
    yield* Metric.update(Instruments.providerWaiting.of(provider), 0)
  })

/** Counters start at 0, so that the first increment shows as a rise. */
const initialize = Effect.gen(function* () {
  yield* Metric.modify(Instruments.openStreams.of(), 0)
  for (const outcome of ["completed", "failed", "abandoned", "refused"]) {
    yield* Metric.update(Instruments.responses.of(outcome), 0)
  }
  for (const window of ["daily", "monthly"]) {
    yield* Metric.update(Instruments.allowanceRefusals.of(window), 0)
  }
})

/** The metrics in the text format of Prometheus. */
export class MetricsText extends Context.Service<
  MetricsText,
  {
    /** Sends no request to a model server. */
    readonly text: Effect.Effect<string>
  }
>()("parley/http/MetricsText") {
  static readonly layer = Layer.effect(
    MetricsText,
    Effect.gen(function* () {
      const router = yield* Router
      const { otlpEndpoint, otlpSignals } = (yield* AppConfig).observability
      const shown = new Set<string>()
      const refresh = Effect.gen(function* () {
        const providers = yield* router.health
        const names = new Set(providers.map(({ provider }) => provider))
        for (const one of [...shown].filter((name) => !names.has(name))) {
          shown.delete(one)
          yield* hide(one)
        }
        yield* Effect.forEach(providers, show, { discard: true })
        for (const name of names) shown.add(name)
      })
      yield* initialize
      if (otlpEndpoint !== null && otlpSignals.includes("metrics")) {
        yield* refresh.pipe(
          Effect.andThen(Effect.sleep(`${refreshSeconds} seconds`)),
          Effect.forever,
          Effect.forkScoped
        )
      }
      return MetricsText.of({ text: Effect.andThen(refresh, Instruments.prometheusText) })
    })
  )
}

/** "" without a readable token. */
const tokenOf = (request: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(
    authorizationHeader(request) === "readable"
      ? (/^bearer +(\S+)$/i.exec(request.headers["authorization"] ?? "")?.[1] ?? "")
      : ""
  )

const metricsResponse = (text: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(text, {
    contentType: Instruments.prometheusContentType,
    headers: { "cache-control": "no-store" }
  })

/**
 * The metrics on the service's own port, by a token; there is no such route if the settings have no token.
 */
export const MetricsRoute = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const { metricsToken } = (yield* AppConfig).observability
    if (metricsToken === null) return
    const { text } = yield* MetricsText
    const services = yield* Effect.context<Digest.Digest>()
    const expected = yield* hash(metricsToken)
    const answer = Effect.gen(function* () {
      const presented = yield* hash(tokenOf(yield* HttpServerRequest.HttpServerRequest))
      // Hashes have one length, so the comparison reveals nothing about the token.
      if (!Mac.timingSafeEqual(presented, expected)) return respondTo(new MetricsTokenRejected())
      return metricsResponse(yield* text)
    }).pipe(Effect.provideContext(services))
    yield* router.add("GET", "/metrics", answer)
  })
)

/** Longest headers of a request, together. */
const headerBytesMax = 16_384

/** Time for a whole request to arrive. */
const requestSeconds = 10

/** Interval at which Node checks for requests that have timed out; its default is 30 seconds. */
const checkSeconds = 1

/** Scrapers keep their connections, and there are few of them. */
const connectionsMax = 100

/** Time for the last responses when the process shuts down. */
const closeSeconds = 1

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

const metricsUnavailable = portUnavailable("The metrics", "PARLEY_METRICS_HOST and PARLEY_METRICS_PORT")

/** The metrics on a port of their own, without a token; only if the settings name the port. */
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
      Layer.catchTag("ServeError", (error) => Layer.effectDiscard(Effect.fail(metricsUnavailable(error))))
    )
  })
)
