import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api, apiVersion } from "../api/Api.ts"
import { makeOpenApiDocument } from "../api/OpenApiDocument.ts"
import type { ProviderHealth } from "../domain/Model.ts"
import { StoreHealth } from "../files/StoreHealth.ts"
import { makeDiskProblem } from "../postgres/DataDisk.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { thisBuild } from "../settings/Build.ts"
import { Database } from "../sql/Database.ts"
import { Drain } from "./Drain.ts"
import { ReferencePage } from "./ReferencePage.ts"
import { route, streamProbePath } from "./Routes.ts"
import { StreamProbe } from "./StreamProbe.ts"

/** The document is derived when it is first asked for: that takes as long as a tenth of a start. */
export const SystemHandlers = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fn(function* (handlers) {
    const document = yield* Effect.cached(
      Effect.sync(() => HttpServerResponse.jsonUnsafe(makeOpenApiDocument()))
    )
    return handlers.handle("openapi", () => document)
  })
)

const alive = HttpServerResponse.jsonUnsafe({ status: "ok" })

/**
 * The running program, for readers without a key: the command line, a monitor, an operator with several
 * processes.
 */
const Version = HttpRouter.add(
  "GET",
  "/version",
  HttpServerResponse.jsonUnsafe({ name: "parley", ...thisBuild, api: apiVersion })
)

const Healthz = HttpRouter.add("GET", "/healthz", alive)

/**
 * The state of the models, as far as earlier requests have shown. It doesn't make the process unready: no
 * other process would do better, and files and conversations are served anyway.
 */
const modelsState = (
  known: number,
  providers: ReadonlyArray<Pick<ProviderHealth, "state">>
): "ok" | "unknown" | "failing" => {
  if (known === 0) return "failing"
  if (providers.length === 0 || providers.some(({ state }) => state === "ok")) return "ok"
  return providers.some(({ state }) => state === "unknown") ? "unknown" : "failing"
}

/**
 * Ready: the database answers, the file store works, the disk has space, and the process is not shutting
 * down.
 */
const Readyz = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const drain = yield* Drain
    const database = yield* Database
    const models = yield* Router
    const store = yield* StoreHealth
    const disk = yield* makeDiskProblem((yield* AppConfig).dataDir)
    const check = Effect.gen(function* () {
      const draining = yield* drain.isDraining
      const [databaseUp, filesUp] = yield* Effect.all(
        [Effect.isSuccess(database.ping), Effect.isSuccess(store.check)],
        { concurrency: 2 }
      )
      // The state is for operators. The probe needs no key, so it shows no more than the state.
      const providers = (yield* models.health).map(({ provider, state }) => ({ provider, state }))
      const known = yield* models.models
      const diskUp = (yield* disk) === null
      const status = !draining && databaseUp && filesUp && diskUp ? "ready" : "not_ready"
      const body = {
        status,
        draining,
        database: databaseUp,
        files: filesUp,
        disk: diskUp,
        models: modelsState(known.length, providers),
        providers
      }
      return HttpServerResponse.jsonUnsafe(body, { status: body.status === "ready" ? 200 : 503 })
    })
    yield* router.add("GET", "/readyz", check)
  })
)

/** Routes that every port of the service answers without a key. */
export const ProcessRoutes = Layer.mergeAll(Healthz, Version)

export const processRoutes = ["/healthz", "/version"].map((path) => route("GET", path))

/** Routes outside of the described interface: probes for the operator, and the reference page. */
export const SystemRoutes = Layer.mergeAll(ProcessRoutes, Readyz, StreamProbe, ReferencePage)

export const systemRoutes = [
  ...processRoutes,
  ...["/readyz", streamProbePath, "/docs", "/docs/reference.js"].map((path) => route("GET", path))
]
