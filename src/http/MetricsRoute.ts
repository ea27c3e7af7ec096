import { Effect, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { AppConfig } from "../settings/AppConfig.ts"
import { hash } from "../auth/KeyToken.ts"
import { MetricsTokenRejected } from "../domain/Errors.ts"
import { prometheusContentType } from "../telemetry/Instruments.ts"
import { authorizationHeader } from "./AuthorizationHeader.ts"
import { respondTo } from "./ErrorBoundary.ts"
import { MetricsText } from "./MetricsText.ts"

/** The token that a request bears; "" where there is none. */
const tokenOf = (request: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(
    authorizationHeader(request) === "readable"
      ? (/^bearer +(\S+)$/i.exec(request.headers["authorization"] ?? "")?.[1] ?? "")
      : ""
  )

export const metricsResponse = (text: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(text, {
    contentType: prometheusContentType,
    headers: { "cache-control": "no-store" }
  })

/** The metrics on the service's own port, for whoever has the token; no such route without one. */
export const MetricsRoute = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const { metricsToken } = (yield* AppConfig).observability
    if (metricsToken === null) return
    const { text } = yield* MetricsText
    const services = yield* Effect.context<Digest.Digest>()
    const expected = yield* hash(metricsToken)
    const answer = Effect.gen(function* () {
      const presented = yield* hash(tokenOf(yield* HttpServerRequest.HttpServerRequest))
      // Hashes have one length and tell nothing about the token, so that the comparison can't either.
      if (!Mac.timingSafeEqual(presented, expected)) return respondTo(new MetricsTokenRejected())
      return metricsResponse(yield* text)
    }).pipe(Effect.provideContext(services))
    yield* router.add("GET", "/metrics", answer)
  })
)
