import { Effect, Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, type HttpApiGroup, HttpApiSecurity } from "effect/http-api"
import { ClientAddress } from "../auth/ClientAddress.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { AdminKeyRejected } from "../domain/Errors.ts"
import { authorizationHeader } from "../http/Authentication.ts"
import { respondTo } from "../http/ErrorBoundary.ts"
import { accountsHandlers, policyHandlers } from "./AdminAccountsHandlers.ts"
import { AdminApi, type AdminGroups, Administration, cliProduct } from "./AdminApi.ts"
import { auditHandlers } from "./AdminAuditHandlers.ts"
import { filesHandlers } from "./AdminFilesHandlers.ts"
import { AdminKey } from "./AdminKey.ts"
import { peopleHandlers } from "./AdminPeopleHandlers.ts"
import { projectsHandlers } from "./AdminProjectsHandlers.ts"
import { serverHandlers } from "./AdminServerHandlers.ts"
import { usageHandlers } from "./AdminUsageHandlers.ts"

const bearerKey = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer)

/** Where the audit log says that the holder of the operator's key acts from. */
const originOf = ({ headers }: HttpServerRequest.HttpServerRequest): "cli" | "api" =>
  headers["user-agent"]?.startsWith(`${cliProduct}/`) === true ? "cli" : "api"

/** Admits only the holder of the operator's key, and keeps every response out of caches. */
const AdminKeyLayer = Layer.effect(
  Administration,
  Effect.gen(function* () {
    const adminKey = yield* AdminKey
    const clientAddress = yield* ClientAddress
    return Administration.of((httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const isReadable = authorizationHeader(request) === "readable"
        const isOperator = isReadable && (yield* adminKey.matches(yield* bearerKey))
        const response = isOperator
          ? yield* Effect.provideService(httpEffect, CurrentActor, {
              _tag: "Operator",
              origin: originOf(request),
              address: clientAddress.of(request).address
            })
          : respondTo(new AdminKeyRejected())
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
    filesHandlers(administration),
    projectsHandlers(administration),
    usageHandlers(administration),
    policyHandlers(administration),
    serverHandlers(administration),
    auditHandlers(administration)
  )
}

/** The operator's interface, under /admin. */
export const AdminRoutes = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide(administrationHandlers(AdminApi)),
  Layer.provide(AdminKeyLayer)
)
