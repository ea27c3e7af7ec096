import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { ConfigProvider, Context, Effect, FileSystem, Layer, Path, Redacted, References } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { AdminApi } from "../../src/admin/AdminApi.ts"
import { AdminKey, adminKeyFileName, readAdminKey } from "../../src/admin/AdminKey.ts"
import { AdminRoutes, adminRoutes } from "../../src/admin/AdminRoutes.ts"
import { Reload } from "../../src/admin/Reload.ts"
import { Audit } from "../../src/audit/Audit.ts"
import { AdminKeys } from "../../src/auth/AdminKeys.ts"
import { ClientAddress } from "../../src/auth/ClientAddress.ts"
import { Backups } from "../../src/backup/Backups.ts"
import { runCli } from "../../src/cli/Commands.ts"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { ResponseJobs } from "../../src/conversations/ResponseJobs.ts"
import { Erasure } from "../../src/erasure/Erasure.ts"
import { UserExport } from "../../src/erasure/UserExport.ts"
import { BodyBoundsLayer } from "../../src/http/BodyBounds.ts"
import { Drain } from "../../src/http/Drain.ts"
import * as ErrorBoundary from "../../src/http/ErrorBoundary.ts"
import { BodySizeLayer, ServerLayer } from "../../src/http/Server.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { JsonSchemas } from "../../src/schemas/JsonSchemas.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Egress } from "../../src/tools/Egress.ts"
import { Network } from "../../src/tools/egress/Network.ts"
import { SearchProbe } from "../../src/tools/WebSearch.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { filesOver } from "../files/fixtures.ts"
import { ScriptedRetrieval } from "../retrieval/ScriptedRetrieval.ts"
import { captured } from "../support/captured.ts"
import { ScriptedModel } from "../support/ScriptedModel.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const Routes = Layer.mergeAll(
  AdminRoutes.pipe(Layer.provide([BodyBoundsLayer, ErrorBoundary.EnvelopeLayer])),
  ErrorBoundary.layer(adminRoutes)
).pipe(Layer.provide(BodySizeLayer))

/** Files and projects whose own statements are left alone by the faults of a test. */
const Files = Layer.suspend(() =>
  Layer.mergeAll(
    Projects.layer.pipe(Layer.provideMerge(ScriptedRetrieval.layer)),
    Conversations.layer,
    ResponseJobs.layer,
    Policy.layer,
    Usage.layer,
    Reload.layer,
    filesOver
  ).pipe(Layer.provide(TestDatabase.client()))
)

const Server = (overrides: SettingsOverrides) =>
  HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(Layer.mergeAll(ServerLayer, AdminKey.layer, ClientAddress.layer)),
    Layer.provideMerge(Drain.layer),
    Layer.provideMerge(Layer.merge(Erasure.layer, UserExport.layer)),
    Layer.provideMerge(Layer.merge(Files, JsonSchemas.layer)),
    Layer.provideMerge(
      SearchProbe.layer.pipe(Layer.provide(Egress.layer.pipe(Layer.provide(Network.layer))))
    ),
    Layer.provideMerge(
      Layer.mergeAll(authLayer(testConfig(overrides)), Audit.layer, AdminKeys.layer, Backups.layer)
    ),
    Layer.provideMerge(Layer.merge(NodeServices.layer, NodeCrypto.layer)),
    Layer.provideMerge(Layer.merge(TestDatabase.layerFailing, ScriptedModel.layer)),
    Layer.provideMerge(Layer.succeed(AppConfig, testConfig(overrides))),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
  )

/** A secret among the settings. */
export const modelServerKey = "sk-not-to-be-shown"

/** The operator's side of a server on a free port, with its key in a data directory of its own. */
export class AdminServer extends Context.Service<
  AdminServer,
  { readonly url: string; readonly dataDir: string; readonly key: Redacted.Redacted }
>()("parley/test/AdminServer") {
  static readonly layerWith = (overrides: SettingsOverrides) =>
    Layer.unwrap(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-admin-" })
        return Layer.effect(
          AdminServer,
          Effect.gen(function* () {
            const path = yield* Path.Path
            const { address } = yield* HttpServer.HttpServer
            const key = yield* readAdminKey(path.join(dataDir, adminKeyFileName))
            return { url: HttpServer.formatAddress(address), dataDir, key }
          })
        ).pipe(
          Layer.provideMerge(
            Server({ ...overrides, dataDir, models: { openaiApiKey: Redacted.make(modelServerKey) } })
          )
        )
      })
    ).pipe(Layer.provide(NodeServices.layer), Layer.provideMerge(FetchHttpClient.layer), Layer.orDie)

  static readonly layer = AdminServer.layerWith({})
}

/** The typed client of the operator, or of somebody else. */
export const clientWith = Effect.fnUntraced(function* (key?: Redacted.Redacted) {
  const server = yield* AdminServer
  return yield* HttpApiClient.make(AdminApi, {
    baseUrl: server.url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(key ?? server.key))
  })
})

/** A service that runs in the current directory has its socket and its key in the default one. */
const noDataDirectory = { PARLEY_DATA_DIR: "/nonexistent/parley" }

/** Runs one command line in this process, in an environment of its own, with some services of it replaced. */
export const runWith = Effect.fnUntraced(function* (
  env: Readonly<Record<string, string>>,
  args: ReadonlyArray<string>,
  replaced: Layer.Layer<never, never, FileSystem.FileSystem> = Layer.empty
) {
  return yield* captured(runCli(args)).pipe(
    Effect.provide(replaced),
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: { ...noDataDirectory, ...env } })
    )
  )
}, Effect.provide(NodeServices.layer))

/** Names the server and its key, as an operator elsewhere does. */
export const operatorOf = ({ dataDir, url }: AdminServer["Service"]) => ({
  PARLEY_URL: url,
  PARLEY_ADMIN_KEY_FILE: `${dataDir}/${adminKeyFileName}`,
  PARLEY_DATA_DIR: dataDir
})

/** Runs one command line as the operator of the server would. */
export const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  return yield* runWith(operatorOf(yield* AdminServer), args)
})

/** The same with some services replaced. */
export const runReplacing = Effect.fnUntraced(function* (
  replaced: Layer.Layer<never, never, FileSystem.FileSystem>,
  ...args: ReadonlyArray<string>
) {
  return yield* runWith(operatorOf(yield* AdminServer), args, replaced)
})
