import { Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { AdminKeyRejected } from "../domain/Errors.ts"
import { authorizationHeader } from "../http/AuthorizationHeader.ts"
import { respondTo } from "../http/ErrorBoundary.ts"
import { AdminAuthentication } from "./AdminApi.ts"
import { AdminKey } from "./AdminKey.ts"

/** Lets nobody in but the holder of the operator's key. What he is told is not to be kept by anything on the way. */
export const AdminAuthenticationLayer = Layer.effect(
  AdminAuthentication,
  Effect.gen(function* () {
    const adminKey = yield* AdminKey
    return AdminAuthentication.of({
      bearer: (httpEffect, { credential }) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const isReadable = authorizationHeader(request) === "readable"
          const isOperator = isReadable && (yield* adminKey.matches(credential))
          const response = isOperator ? yield* httpEffect : respondTo(new AdminKeyRejected())
          return HttpServerResponse.setHeader(response, "cache-control", "no-store")
        })
    })
  })
)
