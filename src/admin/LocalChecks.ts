import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer, Option, type Redacted, References } from "effect"
import { IdentityProvider } from "../auth/IdentityProvider.ts"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { portProblem } from "../http/Server.ts"
import { type diskProblem, diskProblemUnchanged, freeMebibytesMin, freeSpace } from "../postgres/DataDisk.ts"
import { examineEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { isRoot, rootText } from "../postgres/PostgresHome.ts"
import { unusedModelSettings } from "../routing/ModelCatalog.ts"
import { Router } from "../routing/Router.ts"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { AppConfig, unknownVariables } from "../settings/AppConfig.ts"
import { unknownText } from "../settings/SettingProblem.ts"
import { ignoredParameters } from "../sql/DatabaseClient.ts"
import { plannedMigrations } from "../sql/Migrations.ts"
import { meetsRequirements } from "../sql/ServerRequirements.ts"
import { Egress } from "../tools/Egress.ts"
import { Network } from "../tools/egress/Network.ts"
import { SearchProbe } from "../tools/WebSearch.ts"
import type { Check } from "./AdminBodies.ts"
import { checkedSettings } from "./CheckedSettings.ts"
import { failed, isolated, named, ok, warning } from "./Outcome.ts"
import {
  outsideClockChecks,
  identityProviderCheck,
  modelChecks,
  readersCheck,
  schemasCheck,
  webSearchCheck
} from "./OutsideChecks.ts"
import { isLoopback, publicAddressOfSettings } from "./PublicAddress.ts"

/** Less free space than this is worth a warning. */
const spaceMebibytesLow = 2_048

/** Checks of the account and the settings that make no request, with a line for each problem. */
export const settingsChecks = Effect.gen(function* () {
  const { database, http, models } = yield* AppConfig
  const unknown = yield* unknownVariables
  const problems = [
    unknown.length === 0 ? null : unknownText(unknown),
    database.url === null ? null : ignoredParameters(database.url),
    unusedModelSettings(models),
    http.adminPort === null || isLoopback(http.adminHost)
      ? null
      : `PARLEY_ADMIN_HOST is ${http.adminHost}, so other machines can reach the operator's interface, and without TLS. Let it be an address ` +
        "that only operators reach, or 127.0.0.1."
  ].filter((problem) => problem !== null)
  const outcomes = problems.length === 0 ? [ok("All settings are valid.")] : problems.map(warning)
  const account: ReadonlyArray<Check> = isRoot() ? [{ name: "account", ...warning(rootText) }] : []
  return [...account, ...outcomes.map((outcome) => ({ name: "settings", ...outcome }))]
})

/** The state of the database of DATABASE_URL that a start here would find. */
const schemaCheck = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const { after, before, pending } = yield* plannedMigrations({ url })
  if (before === 0) return ok("It is empty. The first start creates the tables.")
  if (pending.length === 0) return ok(`Nothing keeps the service from using it. It has schema ${before}.`)
  return warning(
    `It has schema ${before}, and this version needs ${after}: the next start runs ${pending.length} migrations. Make a backup ` +
      "before; `parley migrate --dry-run` lists them."
  )
})

const databaseCheck = Effect.gen(function* () {
  const { database, dataDir } = yield* AppConfig
  if (database.url === null) {
    yield* examineEmbedded(dataDir)
    return ok("Nothing keeps the service from using it.")
  }
  yield* meetsRequirements({ url: database.url }, database)
  return yield* schemaCheck(database.url)
}).pipe(Effect.catch(({ message }) => Effect.succeed(failed(message))))

export const diskCheck = Effect.fnUntraced(function* (problemOf: typeof diskProblem) {
  const { dataDir } = yield* AppConfig
  const problem = yield* problemOf(dataDir)
  if (problem !== null)
    return failed(
      `${problem} Make room, or let the account of the service write there; PARLEY_DATA_DIR names the directory.`
    )
  return Option.match(yield* freeSpace(dataDir), {
    onNone: () => warning("The free space of the data directory is unknown. Watch it by other means."),
    onSome: ({ directory, mebibytes }) => {
      const free = `${mebibytes} MiB are free in ${directory}.`
      return mebibytes < spaceMebibytesLow
        ? warning(
            `${free} Make room: below ${freeMebibytesMin} MiB the service is not ready, and takes no files.`
          )
        : ok(free)
    }
  })
})

const portChecks = Effect.gen(function* () {
  const { http, observability } = yield* AppConfig
  const ports = [
    { setting: "PORT", host: http.host, port: http.port },
    { setting: "PARLEY_ADMIN_PORT", host: http.adminHost, port: http.adminPort },
    { setting: "PARLEY_METRICS_PORT", host: observability.metricsHost, port: observability.metricsPort }
  ]
  const outcomes = yield* Effect.forEach(ports, ({ host, port, setting }) =>
    port === null
      ? Effect.succeed([])
      : Effect.map(portProblem(host, port), (problem) => [
          problem === null ? ok(`${setting} is free.`) : failed(`${problem} ${setting} names it.`)
        ])
  )
  return outcomes.flat().map((outcome): Check => ({ name: "port", ...outcome }))
})

/** The services that can be asked without a running service and its database. */
const OutsideLayer = Layer.mergeAll(
  Router.layer,
  IdentityProvider.layer,
  TextExtraction.layer,
  JsonSchemas.layer,
  SearchProbe.layer.pipe(Layer.provide(Egress.layer.pipe(Layer.provide(Network.layer))))
).pipe(Layer.provide(NodeCrypto.layer))

const outsideChecks = Effect.all(
  [
    isolated("clock", outsideClockChecks),
    isolated("models", modelChecks),
    isolated("document readers", readersCheck),
    isolated("schema checkers", schemasCheck),
    isolated("web search", webSearchCheck),
    isolated("single sign-on", identityProviderCheck)
  ],
  { concurrency: "unbounded" }
).pipe(
  Effect.map((checks) => checks.flat()),
  Effect.provide(OutsideLayer),
  // The settings' own check reads the catalog, too, and says what is wrong in it.
  Effect.catchTag("CatalogInvalid", ({ message }) => Effect.succeed(named("models", [failed(message)])))
)

/** The checks of a server that does not run, from its settings and without changing anything. */
export const localChecks: Effect.Effect<ReadonlyArray<Check>> = checkedSettings.pipe(
  Effect.flatMap((settings) =>
    Effect.gen(function* () {
      const [outside, database, disk] = yield* Effect.all(
        [outsideChecks, databaseCheck, diskCheck(diskProblemUnchanged)],
        {
          concurrency: "unbounded"
        }
      )
      return [
        ...named("database", [database]),
        ...named("disk", [disk]),
        ...(yield* portChecks),
        ...outside,
        ...(yield* publicAddressOfSettings),
        ...(yield* settingsChecks)
      ]
    }).pipe(Effect.provideService(AppConfig, settings))
  ),
  Effect.catchTag("SettingsInvalid", ({ problems, unknown }) => {
    const outcomes = [
      ...problems.map(({ allowed, details = [], name, seen }) =>
        failed(`${name} is ${[seen, details.join("; ")].join(" ").trimEnd()}, but must be ${allowed}.`)
      ),
      ...(unknown.length === 0 ? [] : [warning(unknownText(unknown))])
    ]
    return Effect.succeed(named("settings", outcomes))
  }),
  // The lines say whatever would be logged.
  Effect.provideService(References.MinimumLogLevel, "None")
)
