import { Cause, Effect, Layer, Predicate, Result, Schema, type Types } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import * as Failure from "../api/Failure.ts"
import { fieldProblem } from "../api/FieldProblem.ts"
import { Envelope } from "../api/Middleware.ts"
import * as Refusal from "../api/Refusal.ts"
import { profileProblem, requestProblem, syntaxProblem } from "../api/RequestProblem.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { makeAccessLog } from "./AccessLog.ts"
import { bodyTooLargeAt } from "./BodyLimit.ts"
import { knownText } from "./BodyText.ts"
import { makeCors } from "./Cors.ts"
import { Drain } from "./Drain.ts"
import { makeNotFoundPage, wantsPage } from "./NotFoundPage.ts"
import { inWordsOf } from "./ProfileErrors.ts"
import { headersFailure, namingIgnoredQuery } from "./RequestChecks.ts"
import { makeTemplateOf, pathOf, probes, profilePathFor, type Route, route } from "./Routes.ts"

/** Characters of a request id that a client may choose; anything else gets a new one. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,100}$/

/** The client's own id if it is harmless, or else a new one. */
export const requestIdOf = (given: string | undefined): string =>
  given !== undefined && requestIdPattern.test(given) ? given : SecureRandom.uuidV7Unsafe()

export const respond = (failure: Failure.Failure): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(Failure.envelopeOf(failure), {
    status: failure.status,
    headers: failure.headers
  })

export const respondTo = (error: Failure.Expected): HttpServerResponse.HttpServerResponse =>
  respond(Failure.describe(error))

/** True if the body has a content encoding, such as gzip. */
export const isEncoded = (request: HttpServerRequest.HttpServerRequest): boolean =>
  (request.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity"

/** Logs failures that are not the client's fault, with details that the client doesn't get. */
export const logFailure = (error: Failure.Expected): Effect.Effect<void> => {
  const { body, status } = Failure.describe(error)
  // A request that a model server refuses may be due to the settings too.
  if (status < 500 && error._tag !== "ModelFailure") return Effect.void
  return Effect.logWarning("A request failed.").pipe(
    Effect.annotateLogs({ status, code: body.code, ...detailOf(error) })
  )
}

/**
 * Turns an expected failure into its response, in the words of an interface, and logs it where `logFailure`
 * does.
 */
export const envelopedAs =
  (worded: (error: ErrorBody, cause: Failure.Expected) => ErrorBody) =>
  <A, E extends Failure.Expected, R>(
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A | HttpServerResponse.HttpServerResponse, never, R> =>
    Effect.catch(effect, (error) => {
      const failure = Failure.describe(error)
      return Effect.as(logFailure(error), respond({ ...failure, body: worded(failure.body, error) }))
    })

/** Answers failures in the words of the public interface. */
export const enveloped = envelopedAs((error) => error)

const detailOf = (error: Failure.Expected): Record<string, unknown> => {
  switch (error._tag) {
    case "ModelFailure": {
      const { advice, detail, logSentence, model, provider, reason } = error
      return {
        reason,
        provider,
        model,
        detail,
        ...(error.status === undefined ? {} : { providerStatus: error.status }),
        ...(logSentence === undefined ? {} : { sentence: logSentence }),
        ...(advice === undefined ? {} : { advice })
      }
    }
    case "NoModelAvailable":
    case "EmbeddingsFailed":
      return { detail: error.detail }
    case "DatabaseUnavailable":
      return { detail: String(error.cause) }
    case "StorageFailed":
      return { operation: error.operation, detail: String(error.cause) }
    default:
      return {}
  }
}

/**
 * Turns a schema failure of the request into a 400 that names the field; one of our own response is a defect.
 */
export const EnvelopeLayer = Layer.succeed(Envelope, (httpEffect, { endpoint }) =>
  Effect.catch(namingIgnoredQuery(httpEffect, endpoint), (error: unknown) => {
    if (!HttpApiError.HttpApiSchemaError.is(error)) return Effect.die(error)
    if (error.kind === "Body" || error.kind === "ResponseHeaders") return Effect.die(error)
    const problem =
      error.kind === "Payload" ? bodyProblem(error.cause) : Effect.succeed(fieldProblem(error.cause))
    return Effect.map(problem, (found) => respondTo(new InvalidRequest({ ...found })))
  })
)

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** Returns the problem of a body, which is read again, because the issues of the schema don't hold it. */
const bodyProblem = Effect.fnUntraced(function* (error: Schema.SchemaError) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const text = knownText(request)
  const syntax = syntaxProblem(text)
  if (syntax !== null) return syntax
  const path = pathOf(request.url)
  if (/^\/(v1|console)\/responses/.test(path)) {
    return requestProblem(error, yield* Effect.orDie(decodeJson(text)))
  }
  return /^\/openai\/v1\/(responses|chat|conversations)(\/|$)/.test(path)
    ? profileProblem(error, yield* Effect.orDie(decodeJson(text)))
    : fieldProblem(error)
})

const unknownRoute = (method: string, path: string, known: ReadonlyArray<Route>): Failure.Failure =>
  Refusal.unknownRoute(method, path, profilePathFor(method === "HEAD" ? "GET" : method, path, known))

const missingRoute = ({ method, url }: HttpServerRequest.HttpServerRequest, known: ReadonlyArray<Route>) => {
  const path = pathOf(url)
  // It looks like the path of a response.
  if (/\/responses\/input_tokens\/?$/.test(path)) return unknownRoute(method, path, known)
  const methods = new Set(known.filter((one) => one.path.test(path)).map((one) => one.method))
  // A path that can't be decoded, or has too long a parameter, may look like that of a route.
  return methods.size === 0 || methods.has(method === "HEAD" ? "GET" : method)
    ? unknownRoute(method, path, known)
    : Refusal.methodNotAllowed(method, path, [...methods].toSorted())
}

/** The response to an error of the platform, or null if the error is a defect. */
const platformResponse = (
  error: unknown,
  request: HttpServerRequest.HttpServerRequest,
  known: ReadonlyArray<Route>,
  http: AppConfig["Service"]["http"]
): HttpServerResponse.HttpServerResponse | null => {
  if (!HttpServerError.isHttpServerError(error)) return null
  switch (error.reason._tag) {
    case "RouteNotFound":
      return respond(missingRoute(request, known))
    case "RequestParseError":
      return respond(
        error.reason.reason === "BodyTooLarge" ? bodyTooLargeAt(http, request.url) : Failure.unreadableBody
      )
    default:
      return null
  }
}

/** The one endpoint whose body isn't JSON. */
const uploadPath = /^(\/openai)?\/v1\/files\/?$/i

/** The failure for a response of the platform without an envelope. */
const bareFailure = (
  status: number,
  { headers, method, url }: HttpServerRequest.HttpServerRequest,
  http: AppConfig["Service"]["http"]
): Failure.Failure => {
  const path = pathOf(url)
  switch (status) {
    case 413:
      return bodyTooLargeAt(http, url)
    case 415:
      return uploadPath.test(path) ? Refusal.notMultipart : Refusal.notJson(headers["content-type"])
    case 404:
      return Refusal.unknownRoute(method, path)
    default:
      return Failure.defect
  }
}

const isJson = ({ headers }: HttpServerResponse.HttpServerResponse): boolean =>
  (headers["content-type"] ?? "").startsWith("application/json")

/** The route exists only if a token is set. */
const metricsRoute = route("GET", "/metrics")

/**
 * Around every request: gives it an id, refuses it while the process shuts down, turns every failure into the
 * envelope, and says which pages of other origins may read the response.
 */
export const layer = (declared: ReadonlyArray<Route>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const { console, http, observability } = yield* AppConfig
      const notFoundPage = makeNotFoundPage(console.basePath)
      const drain = yield* Drain
      const access = yield* makeAccessLog
      const known = observability.metricsToken === null ? declared : [...declared, metricsRoute]
      const templateOf = makeTemplateOf(known)
      const cors = makeCors(http.corsOrigins)

      const recover = (cause: Cause.Cause<Types.unhandled>, request: HttpServerRequest.HttpServerRequest) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const response = platformResponse(Cause.squash(cause), request, known, http)
        if (response !== null) return Effect.succeed(response)
        return Effect.logError("An unhandled error ended a request.", cause).pipe(
          Effect.as(respond(Failure.defect))
        )
      }

      const admit = (request: HttpServerRequest.HttpServerRequest) => {
        const refused = headersFailure(request)
        if (refused !== null) return Effect.fail(refused)
        // Probes are answered to the end, also while the process shuts down.
        return probes.has(pathOf(request.url)) ? Effect.void : Effect.mapError(drain.admit, Failure.describe)
      }

      return (httpEffect) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const requestId = requestIdOf(request.headers["x-request-id"])
          const admitted = yield* Effect.result(admit(request))
          const entry = yield* access.begin(request, requestId, templateOf(pathOf(request.url)))
          const preflight = cors.preflight(request)
          const response = yield* (
            Result.isFailure(admitted)
              ? Effect.succeed(respond(admitted.failure))
              : preflight === null
                ? httpEffect
                : Effect.succeed(preflight)
          ).pipe(
            Effect.catchCause((cause) => recover(cause, request)),
            access.within(entry)
          )
          const enveloped =
            response.status === 404 && wantsPage(request)
              ? notFoundPage
              : response.status >= 400 && !isJson(response)
                ? respond(bareFailure(response.status, request, http))
                : response
          const worded = inWordsOf(pathOf(request.url), requestId, enveloped)
          access.responded(entry, HttpServerResponse.setStatus(enveloped, worded.status))
          const isDraining = yield* drain.isDraining
          return HttpServerResponse.setHeaders(cors.shared(request, worded), {
            "x-request-id": requestId,
            // A JSON response may be private to its caller.
            ...(isJson(enveloped) ? { "cache-control": "no-store" } : {}),
            ...(isDraining || isUnread(request) ? { connection: "close" } : {})
          })
        })
    }),
    { global: true }
  )

/**
 * True if a part of the body is still to come. It is not read, and a slow client could keep the connection
 * open by it.
 */
const isUnread = (request: HttpServerRequest.HttpServerRequest): boolean =>
  (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined) &&
  Predicate.hasProperty(request.source, "complete") &&
  request.source.complete === false
