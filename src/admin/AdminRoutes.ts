import { Effect, Layer, Result } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, type HttpApiGroup, HttpApiSecurity } from "effect/http-api"
import { AdminKeys } from "../auth/AdminKeys.ts"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { AdminKeyRejected } from "../domain/Errors.ts"
import { authorizationHeader } from "../http/Authentication.ts"
import { logFailure, respondTo } from "../http/ErrorBoundary.ts"
import { routesOf } from "../http/Routes.ts"
import { accountsHandlers, policyHandlers, adminKeysHandlers } from "./AdminAccountsHandlers.ts"
import { AdminApi, type AdminGroups, Administration, cliProduct } from "./AdminApi.ts"
import { auditHandlers } from "./AdminAuditHandlers.ts"
import { dataHandlers } from "./AdminDataHandlers.ts"
import { filesHandlers } from "./AdminFilesHandlers.ts"
import { AdminKey } from "./AdminKey.ts"
import { peopleHandlers } from "./AdminPeopleHandlers.ts"
import { projectsHandlers } from "./AdminProjectsHandlers.ts"
import { serverHandlers } from "./AdminServerHandlers.ts"
import { usageHandlers } from "./AdminUsageHandlers.ts"

const bearerKey = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)

/** The origin of an operator's request in the audit log. */
const originOf = ({ headers }: HttpServerRequest.HttpServerRequest): "cli" | "api" =>
  headers["user-agent"]?.startsWith(`${cliProduct}/`) === true ? "cli" : "api"

/**
 * Admits only the holders of admin keys, and keeps every response out of caches. The key of the settings or
 * of the data directory is known without a database.
 */
const AdminKeyLayer = Layer.effect(
  Administration,
  Effect.gen(function* () {
    const adminKey = yield* AdminKey
    const adminKeys = yield* AdminKeys
    const clientAddress = yield* ClientAddress

    /** The named key that the request presents; null for the one that has no name. */
    const keyOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      if (authorizationHeader(request) !== "readable") return yield* new AdminKeyRejected()
      const presented = yield* bearerKey
      return (yield* adminKey.matches(presented)) ? null : yield* adminKeys.authenticate(presented)
    })

    return Administration.of((httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const key = yield* Effect.result(keyOf(request))
        const response = Result.isFailure(key)
          ? yield* Effect.as(logFailure(key.failure), respondTo(key.failure))
          : yield* Effect.provideService(httpEffect, CurrentActor, {
              _tag: "Operator",
              origin: originOf(request),
              address: clientAddress.of(request).address,
              key: key.success
            })
        return HttpServerResponse.setHeader(response, "cache-control", "no-store")
      })
    )
  })
)

/** The handlers of the operator's groups for an interface that has them; they don't see under which paths. */
export const administrationHandlers = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
) => {
  const administration = api as unknown as HttpApi.HttpApi<Id, AdminGroups>
  return Layer.mergeAll(
    accountsHandlers(administration),
    peopleHandlers(administration),
    dataHandlers(administration),
    filesHandlers(administration),
    projectsHandlers(administration),
    usageHandlers(administration),
    policyHandlers(administration),
    serverHandlers(administration),
    auditHandlers(administration),
    adminKeysHandlers(administration)
  )
}

/** The operator's interface, under /admin. */
export const AdminRoutes = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide(administrationHandlers(AdminApi)),
  Layer.provide(AdminKeyLayer)
)

export const adminRoutes = routesOf(AdminApi)
