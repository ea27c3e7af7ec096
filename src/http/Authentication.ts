import { Context, Effect, Layer, Predicate, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { KeyAuthentication, KeyedDocumentAccess } from "../api/anthropic/Middleware.ts"
import { Authentication, DocumentAccess, KeepsConnection } from "../api/Middleware.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { keyPrefix } from "../auth/KeyToken.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { CurrentUser } from "../domain/Account.ts"
import { ApiKeyMissing, ApiKeyRejected, AuthorizationMalformed } from "../domain/Errors.ts"
import { inTurns } from "../runtime/ProcessorTurns.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { KeyRates } from "../usage/KeyRates.ts"
import { respondTo } from "./ErrorBoundary.ts"
import { UserBounds } from "./UserBounds.ts"

/** Longer `Authorization` headers are refused unread. */
const headerCharactersMax = 200

const isAuthorization = (name: unknown): boolean =>
  Predicate.isString(name) && name.length === 13 && name.toLowerCase() === "authorization"

/** Node keeps the first of several `Authorization` headers; more than one is refused instead. */
const isRepeated = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const source: unknown = request.source
  if (!Predicate.hasProperty(source, "rawHeaders") || !Array.isArray(source.rawHeaders)) return false
  // Names and values in turn.
  return source.rawHeaders.filter((word, at) => at % 2 === 0 && isAuthorization(word)).length > 1
}

/** `unreadable`: repeated or too long. */
export const authorizationHeader = (
  request: HttpServerRequest.HttpServerRequest
): "missing" | "unreadable" | "readable" => {
  const header = request.headers["authorization"]
  if (header === undefined) return "missing"
  return header.length > headerCharactersMax || isRepeated(request) ? "unreadable" : "readable"
}

/** Other headers in which clients send keys; none of them is read. */
const otherHeaders = ["x-api-key", "api-key", "x-goog-api-key"]

const hasKeyElsewhere = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  otherHeaders.some((name) => headers[name] !== undefined)

/** Why the header is no `Bearer <key>`; null if it is one. */
const bearerProblem = ({
  headers
}: HttpServerRequest.HttpServerRequest): "no_scheme" | "other_scheme" | "no_key" | null => {
  const [first = "", ...rest] = (headers["authorization"] ?? "").trim().split(/ +/)
  if (first.toLowerCase() === "bearer") return rest.length === 0 ? "no_key" : null
  if (first === "") return "no_key"
  return rest.length === 0 ? "no_scheme" : "other_scheme"
}

/** The caller whose key it is, admitted within the bounds of the key and of its user. */
const makeAdmit = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const bounds = yield* UserBounds
  const rates = yield* KeyRates
  return Effect.fnUntraced(function* (credential: Redacted.Redacted, isConnection: boolean) {
    const caller = yield* keys.authenticate(credential)
    const entry = yield* CurrentAccess
    if (entry !== null) entry.caller = caller
    const { requestsPerMinute } = caller.keyLimits
    // Before the bounds of the user, so that what the key may not send takes nothing from the user's other
    // keys.
    if (requestsPerMinute !== null) yield* rates.admit(caller.keyId, requestsPerMinute)
    const admitted = bounds.admit(caller.userId)
    yield* isConnection ? Effect.scoped(admitted) : admitted
    return caller
  })
})

/** The same by the one header that may name a key. */
const makeAuthenticate = Effect.map(makeAdmit, (admit) =>
  Effect.fnUntraced(function* (credential: Redacted.Redacted, isConnection = false) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const header = authorizationHeader(request)
    if (header === "missing") {
      return yield* new ApiKeyMissing({ found: hasKeyElsewhere(request) ? "other_header" : "nothing" })
    }
    const found = header === "readable" ? bearerProblem(request) : null
    if (found !== null) return yield* new AuthorizationMalformed({ found })
    if (header === "unreadable" || Redacted.value(credential) === "") {
      return yield* new ApiKeyRejected({ reason: "malformed" })
    }
    return yield* admit(credential, isConnection)
  })
)

export const AuthenticationLayer = Layer.effect(
  Authentication,
  Effect.map(makeAuthenticate, (authenticate) =>
    Authentication.of({
      bearer: (httpEffect, { credential, endpoint }) => {
        const isConnection = Context.get(endpoint.annotations, KeepsConnection)
        return Effect.matchEffect(authenticate(credential, isConnection), {
          onFailure: (error) => Effect.succeed(respondTo(error)),
          onSuccess: (caller) => {
            const handled = Effect.provideService(httpEffect, CurrentUser, caller)
            // A wait between the upgrade of a connection and the first listener would lose its messages. Each
            // of them has its turn.
            return isConnection ? handled : inTurns(caller.userId)(handled)
          }
        })
      }
    })
  )
).pipe(Layer.provide(UserBounds.layer))

export const DocumentAccessLayer = Layer.effect(
  DocumentAccess,
  Effect.gen(function* () {
    const authenticate = yield* makeAuthenticate
    const { http } = yield* AppConfig
    return DocumentAccess.of({
      bearer: (httpEffect, { credential }) =>
        http.openapiPublic
          ? httpEffect
          : Effect.matchEffect(authenticate(credential), {
              onFailure: (error) => Effect.succeed(respondTo(error)),
              onSuccess: () => httpEffect
            })
    })
  })
).pipe(Layer.provide(UserBounds.layer))

/**
 * The key in `x-api-key`; null where `Authorization` counts. A client that sends both may have a key of
 * another service in one of them: the key of this service counts.
 */
const otherKey = ({ headers }: HttpServerRequest.HttpServerRequest): string | null => {
  const key = headers["x-api-key"]
  if (key === undefined) return null
  return headers["authorization"] === undefined || key.startsWith(keyPrefix) ? key : null
}

/** The same by either header. */
const makeAuthenticateByEither = Effect.gen(function* () {
  const admit = yield* makeAdmit
  const authenticate = yield* makeAuthenticate
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const key = otherKey(request)
    if (key === null) {
      const bearer = (request.headers["authorization"] ?? "").trim().replace(/^bearer +/i, "")
      return yield* authenticate(Redacted.make(bearer))
    }
    if (key === "" || key.length > headerCharactersMax)
      return yield* new ApiKeyRejected({ reason: "malformed" })
    return yield* admit(Redacted.make(key), false)
  })
})

/** Whichever of the two schemes is asked first looks at both headers. */
export const KeyAuthenticationLayer = Layer.effect(
  KeyAuthentication,
  Effect.map(makeAuthenticateByEither, (authenticate) => {
    const byEither: Context.Service.Shape<typeof KeyAuthentication>["bearer"] = (httpEffect) =>
      Effect.matchEffect(authenticate, {
        onFailure: (error) => Effect.succeed(respondTo(error)),
        onSuccess: (caller) => inTurns(caller.userId)(Effect.provideService(httpEffect, CurrentUser, caller))
      })
    return KeyAuthentication.of({ apiKey: byEither, bearer: byEither })
  })
).pipe(Layer.provide(UserBounds.layer))

export const KeyedDocumentAccessLayer = Layer.effect(
  KeyedDocumentAccess,
  Effect.gen(function* () {
    const authenticate = yield* makeAuthenticateByEither
    const { http } = yield* AppConfig
    const byEither: Context.Service.Shape<typeof KeyedDocumentAccess>["bearer"] = (httpEffect) =>
      http.openapiPublic
        ? httpEffect
        : Effect.matchEffect(authenticate, {
            onFailure: (error) => Effect.succeed(respondTo(error)),
            onSuccess: () => httpEffect
          })
    return KeyedDocumentAccess.of({ apiKey: byEither, bearer: byEither })
  })
).pipe(Layer.provide(UserBounds.layer))
