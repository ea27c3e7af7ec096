import { Cause, Effect, Layer, Option, Predicate, Result, Schema, type Types } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { SecureRandom } from "effect/crypto"
import { AppConfig } from "../settings/AppConfig.ts"
import { Envelope } from "../api/Middleware.ts"
import { adviceOn } from "../providers/Fault.ts"
import * as Failure from "../api/Failure.ts"
import { fieldProblem } from "../api/FieldProblem.ts"
import { requestProblem, syntaxProblem } from "../api/RequestProblem.ts"
import * as Refusal from "../api/Refusal.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { makeAccessLog } from "./AccessLog.ts"
import { Drain } from "./Drain.ts"
import { type DeclaredRoute, makeTemplateOf, probes } from "./Routes.ts"

/** Characters of a request id that a client may choose; anything else gets a new one. */
const requestIdPattern = /^[A-Za-z0-9._-]{1,100}$/

/** The id of a request: the client's own where it is harmless, or else a new one. */
export const requestIdOf = (
  given: string | undefined,
  random: SecureRandom.SecureRandom["Service"]
): Effect.Effect<string> =>
  given !== undefined && requestIdPattern.test(given) ? Effect.succeed(given) : random.uuidV7()

/** A failure as a response: the envelope, its status and its headers. */
export const respond = (failure: Failure.Failure): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(Failure.envelopeOf(failure), {
    status: failure.status,
    headers: failure.headers
  })

/** An expected error as a response. */
export const respondTo = (error: Failure.Expected): HttpServerResponse.HttpServerResponse =>
  respond(Failure.describe(error))

/** Whether the body is not what it looks like: compressed, for instance. */
export const isEncoded = (request: HttpServerRequest.HttpServerRequest): boolean =>
  (request.headers["content-encoding"] ?? "identity").toLowerCase() !== "identity"

/** Logs what is the service's fault and not the client's; the client is told less than the operator. */
export const logFailure = (error: Failure.Expected): Effect.Effect<void> => {
  const { body, status } = Failure.describe(error)
  // What a model server refuses may also be due to the settings.
  if (status < 500 && error._tag !== "ModelFailure") return Effect.void
  return Effect.logWarning("A request failed.").pipe(
    Effect.annotateLogs({ status, code: body.code, ...detailOf(error) })
  )
}

/** Turns an expected failure into its response, and logs it where `logFailure` does. */
export const enveloped = <A, E extends Failure.Expected, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catch(effect, (error) => Effect.as(logFailure(error), respondTo(error)))

const detailOf = (error: Failure.Expected): Record<string, unknown> => {
  switch (error._tag) {
    case "ModelFailure": {
      const { detail, model, provider, reason } = error
      const advice = adviceOn(error)
      return {
        reason,
        provider,
        model,
        detail,
        ...(error.status === undefined ? {} : { providerStatus: error.status }),
        ...(advice === null ? {} : { advice })
      }
    }
    case "NoModelAvailable":
      return { detail: error.detail }
    case "DatabaseUnavailable":
      return { detail: String(error.cause) }
    case "StorageFailed":
      return { operation: error.operation, detail: String(error.cause) }
    default:
      return {}
  }
}

/** Turns what a schema refuses into a 400 that names the field. What we can't encode ourselves is our own bug. */
export const EnvelopeLayer = Layer.succeed(Envelope, (httpEffect) =>
  Effect.catch(httpEffect, (error: unknown) => {
    if (!HttpApiError.HttpApiSchemaError.is(error)) return Effect.die(error)
    if (error.kind === "Body" || error.kind === "ResponseHeaders") return Effect.die(error)
    const problem =
      error.kind === "Payload" ? bodyProblem(error.cause) : Effect.succeed(fieldProblem(error.cause))
    return Effect.map(problem, (found) => respondTo(new InvalidRequest({ ...found })))
  })
)

/** What is wrong with a body, which is looked at once more: the schema's own issues don't hold it. */
const bodyProblem = (error: Schema.SchemaError) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const text = yield* Effect.orDie(request.text)
    const syntax = syntaxProblem(text)
    if (syntax !== null) return syntax
    return pathOf(request.url).startsWith(responsesPath)
      ? requestProblem(error, yield* Effect.orDie(decodeJson(text)))
      : fieldProblem(error)
  })

const responsesPath = "/v1/responses"
const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** Which methods each path of the interfaces has, for telling a wrong method from an unknown route. */
export interface KnownRoute extends DeclaredRoute {
  readonly method: string
}

interface Declared {
  readonly groups: {
    readonly [name: string]: {
      readonly endpoints: { readonly [name: string]: { readonly path: string; readonly method: string } }
    }
  }
}

/** The routes that an HttpApi declares. */
export const routesOf = (api: Declared): ReadonlyArray<KnownRoute> =>
  Object.values(api.groups).flatMap((group) =>
    Object.values(group.endpoints).map((endpoint) => ({
      template: endpoint.path,
      path: new RegExp(`^${endpoint.path.replace(/:[^/]+/g, "[^/]+")}/?$`),
      method: endpoint.method
    }))
  )

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end < 0 ? url : url.slice(0, end)
}

const missingRoute = (request: HttpServerRequest.HttpServerRequest, known: ReadonlyArray<KnownRoute>) => {
  const path = pathOf(request.url)
  const methods = known.filter((route) => route.path.test(path)).map((route) => route.method)
  return methods.length === 0
    ? Refusal.unknownRoute(request.method, path)
    : Refusal.methodNotAllowed(request.method, path, [...new Set(methods)].toSorted())
}

/** A person who opens the address of the service in a browser. */
const isVisit = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "GET" && pathOf(url) === "/" && (headers["accept"] ?? "").includes("text/html")

/** Relative, so that it works below any prefix of a proxy. */
const toReference = HttpServerResponse.redirect("docs", { status: 302 })

/** The failure behind an error of the platform; none for what is not one of its refusals. */
const platformFailure = (
  error: unknown,
  request: HttpServerRequest.HttpServerRequest,
  known: ReadonlyArray<KnownRoute>,
  bodyBytesMax: number
): Option.Option<Failure.Failure> => {
  if (!HttpServerError.isHttpServerError(error)) return Option.none()
  switch (error.reason._tag) {
    case "RouteNotFound":
      return Option.some(missingRoute(request, known))
    case "RequestParseError":
      return Option.some(
        error.reason.reason === "BodyTooLarge" ? Refusal.bodyTooLarge(bodyBytesMax) : Failure.unreadableBody
      )
    default:
      return Option.none()
  }
}

const isRouteMissing = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** The one endpoint whose body isn't JSON. */
const uploadPath = /^\/v1\/files\/?$/i

/** Responses of the platform that carry no envelope, by status. */
const bareFailure = (
  status: number,
  { headers, method, url }: HttpServerRequest.HttpServerRequest,
  bodyBytesMax: number
): Failure.Failure => {
  const path = pathOf(url)
  switch (status) {
    case 413:
      return Refusal.bodyTooLarge(bodyBytesMax)
    case 415:
      return uploadPath.test(path) ? Refusal.notMultipart : Refusal.notJson(headers["content-type"])
    case 404:
      return Refusal.unknownRoute(method, path)
    default:
      return Failure.defect
  }
}

/** What a JSON answer says is its caller's alone. */
const isJson = (response: HttpServerResponse.HttpServerResponse): boolean =>
  (response.headers["content-type"] ?? "").startsWith("application/json")

const isBare = (response: HttpServerResponse.HttpServerResponse): boolean =>
  response.status >= 400 && !isJson(response)

/**
 * Around everything: each request gets an id, none is admitted while the process goes down, and whatever goes wrong
 * comes out as the envelope.
 */
export const layer = (declared: ReadonlyArray<KnownRoute>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const { http, observability } = yield* AppConfig
      const drain = yield* Drain
      const random = yield* SecureRandom.SecureRandom
      const access = yield* makeAccessLog
      const known = observability.metricsToken === null ? declared : [...declared, metricsRoute]
      const templateOf = makeTemplateOf(known)

      const recover = (cause: Cause.Cause<Types.unhandled>, request: HttpServerRequest.HttpServerRequest) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        const error = Cause.squash(cause)
        if (isVisit(request) && isRouteMissing(error)) return Effect.succeed(toReference)
        const refusal = platformFailure(error, request, known, http.bodyBytesMax)
        if (Option.isSome(refusal)) return Effect.succeed(respond(refusal.value))
        return Effect.logError("An unhandled error ended a request.", cause).pipe(
          Effect.as(respond(Failure.defect))
        )
      }

      const admit = (request: HttpServerRequest.HttpServerRequest) => {
        if (lacksHost(request)) return Effect.fail(Refusal.hostMissing)
        // They answer to the end, also while the process goes down.
        return probes.has(pathOf(request.url)) ? Effect.void : Effect.mapError(drain.admit, Failure.describe)
      }

      return (httpEffect) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const requestId = yield* requestIdOf(request.headers["x-request-id"], random)
          const path = pathOf(request.url)
          const admitted = yield* Effect.result(admit(request))
          const entry = yield* access.begin(request, requestId, templateOf(path))
          const response = yield* (
            Result.isFailure(admitted) ? Effect.succeed(respond(admitted.failure)) : httpEffect
          ).pipe(
            Effect.catchCause((cause) => recover(cause, request)),
            access.within(entry)
          )
          const enveloped = isBare(response)
            ? respond(bareFailure(response.status, request, http.bodyBytesMax))
            : response
          access.responded(entry, enveloped)
          return HttpServerResponse.setHeaders(enveloped, {
            "x-request-id": requestId,
            ...(isJson(enveloped) ? { "cache-control": "no-store" } : {}),
            ...(isUnread(request) ? { connection: "close" } : {})
          })
        })
    }),
    { global: true }
  )

/** Whether a part of the body is still to come. Nobody would read it, and a slow client could keep the connection by it. */
const isUnread = (request: HttpServerRequest.HttpServerRequest): boolean =>
  (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined) &&
  Predicate.hasProperty(request.source, "complete") &&
  request.source.complete === false

/** HTTP/1.1 demands the header. Source: RFC 9112, section 3.2. */
const lacksHost = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.headers["host"] === undefined &&
  Predicate.hasProperty(request.source, "httpVersion") &&
  request.source.httpVersion === "1.1"

/** There only with a token. */
const metricsRoute: KnownRoute = { template: "/metrics", path: /^\/metrics\/?$/, method: "GET" }
