import { Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AdminKeyRejected } from "../domain/Errors.ts"
import { authorizationHeader } from "../http/Authentication.ts"
import { respondTo } from "../http/ErrorBoundary.ts"
import { AdminAccountsHandlers, AdminPolicyHandlers } from "./AdminAccountsHandlers.ts"
import { AdminApi, AdminAuthentication } from "./AdminApi.ts"
import { AdminFilesHandlers } from "./AdminFilesHandlers.ts"
import { AdminKey } from "./AdminKey.ts"
import { AdminProjectsHandlers } from "./AdminProjectsHandlers.ts"
import { AdminServerHandlers } from "./AdminServerHandlers.ts"
import { AdminUsageHandlers } from "./AdminUsageHandlers.ts"

/** Admits only the holder of the operator's key, and keeps every response out of caches. */
const AdminAuthenticationLayer = Layer.effect(
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

/** The operator's interface, under /admin. */
export const AdminRoutes = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide([
    AdminAccountsHandlers,
    AdminFilesHandlers,
    AdminProjectsHandlers,
    AdminUsageHandlers,
    AdminPolicyHandlers,
    AdminServerHandlers
  ]),
  Layer.provide(AdminAuthenticationLayer)
)
