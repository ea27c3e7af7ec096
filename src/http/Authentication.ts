import { Effect, Layer, Predicate, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { Authentication, DocumentAccess } from "../api/Middleware.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { type Caller, CurrentUser } from "../domain/Account.ts"
import { ApiKeyMissing, ApiKeyRejected, AuthorizationMalformed } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { respondTo } from "./ErrorBoundary.ts"
import { UserBounds } from "./UserBounds.ts"

/** Characters of an `Authorization` header; longer ones are refused unread. */
const lengthMax = 200

/** Node keeps the first of several `Authorization` headers; more than one is refused instead. */
const isRepeated = (request: HttpServerRequest.HttpServerRequest): boolean => {
  const source: unknown = request.source
  if (!Predicate.hasProperty(source, "headersDistinct")) return false
  const headers = source.headersDistinct
  return (
    Predicate.hasProperty(headers, "authorization") &&
    Array.isArray(headers.authorization) &&
    headers.authorization.length > 1
  )
}

/** What can be said of the header before its credential is looked at. */
export const authorizationHeader = (
  request: HttpServerRequest.HttpServerRequest
): "missing" | "unreadable" | "readable" => {
  const header = request.headers["authorization"]
  if (header === undefined) return "missing"
  return header.length > lengthMax || isRepeated(request) ? "unreadable" : "readable"
}

/** Other headers and places in which clients send keys; none of them is read. */
const otherHeaders = ["x-api-key", "api-key", "x-goog-api-key"]

const hasKeyElsewhere = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  otherHeaders.some((name) => headers[name] !== undefined)

/** In which way the header is no `Bearer <key>`; null where it is one. */
const bearerProblem = ({
  headers
}: HttpServerRequest.HttpServerRequest): "no_scheme" | "other_scheme" | "no_key" | null => {
  const [first = "", ...rest] = (headers["authorization"] ?? "").trim().split(/ +/)
  if (first.toLowerCase() === "bearer") return rest.length === 0 ? "no_key" : null
  if (first === "") return "no_key"
  return rest.length === 0 ? "no_scheme" : "other_scheme"
}

/** Who sends the request, by the one header that may say so. */
const authenticate = Effect.fnUntraced(function* (credential: Redacted.Redacted) {
  const keys = yield* ApiKeys
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
  return yield* keys.authenticate(credential)
})

/** Who sends the request, for the line in the log too. */
const known = (caller: Caller) =>
  Effect.map(CurrentAccess, (entry) => {
    if (entry !== null) entry.caller = caller
  })

export const AuthenticationLayer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const bounds = yield* UserBounds
    return Authentication.of({
      bearer: (httpEffect, { credential }) =>
        authenticate(credential).pipe(
          Effect.provideService(ApiKeys, keys),
          Effect.tap((caller) => Effect.andThen(known(caller), bounds.admit(caller.userId))),
          Effect.matchEffect({
            onFailure: (error) => Effect.succeed(respondTo(error)),
            onSuccess: (caller) => Effect.provideService(httpEffect, CurrentUser, caller)
          })
        )
    })
  })
).pipe(Layer.provide(UserBounds.layer))

export const DocumentAccessLayer = Layer.effect(
  DocumentAccess,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const bounds = yield* UserBounds
    const { http } = yield* AppConfig
    return DocumentAccess.of({
      bearer: (httpEffect, { credential }) =>
        http.openapiPublic
          ? httpEffect
          : authenticate(credential).pipe(
              Effect.provideService(ApiKeys, keys),
              Effect.tap((caller) => Effect.andThen(known(caller), bounds.admit(caller.userId))),
              Effect.matchEffect({
                onFailure: (error) => Effect.succeed(respondTo(error)),
                onSuccess: () => httpEffect
              })
            )
    })
  })
).pipe(Layer.provide(UserBounds.layer))
