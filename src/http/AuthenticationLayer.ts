import { Effect, Layer, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { AppConfig } from "../settings/AppConfig.ts"
import { Authentication, DocumentAccess } from "../api/Authentication.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { CurrentAccess } from "../domain/AccessEntry.ts"
import { type Caller, CurrentUser } from "../domain/Account.ts"
import { ApiKeyMissing, ApiKeyRejected, AuthorizationMalformed } from "../domain/Errors.ts"
import { authorizationHeader, bearerProblem, hasKeyElsewhere } from "./AuthorizationHeader.ts"
import { respondTo } from "./ErrorBoundary.ts"
import { UserBounds } from "./UserBounds.ts"

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
