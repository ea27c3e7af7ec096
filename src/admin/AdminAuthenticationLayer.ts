import { Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { AdminKeyRejected } from "../domain/Errors.ts"
import { AdminAuthentication } from "./AdminApi.ts"
import { AdminKey } from "./AdminKey.ts"
import { refusal } from "./AdminRefusal.ts"

/** Characters of an `Authorization` header; longer ones are refused unread. */
const authorizationCharactersMax = 200

/** Lets nobody in but the holder of the operator's key. What he is told is not to be kept by anything on the way. */
export const AdminAuthenticationLayer = Layer.effect(
  AdminAuthentication,
  Effect.gen(function* () {
    const adminKey = yield* AdminKey
    return AdminAuthentication.of({
      bearer: (httpEffect, { credential }) =>
        Effect.gen(function* () {
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const isReadable = (headers["authorization"] ?? "").length <= authorizationCharactersMax
          const isOperator = isReadable && (yield* adminKey.matches(credential))
          const response = isOperator ? yield* httpEffect : refusal(new AdminKeyRejected())
          return HttpServerResponse.setHeader(response, "cache-control", "no-store")
        })
    })
  })
)
