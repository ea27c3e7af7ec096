import { Effect, Option } from "effect"
import { portProblem } from "../http/Server.ts"
import { diskProblem, freeSpace } from "../postgres/DataDisk.ts"
import { examineEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { isRoot, rootText } from "../postgres/PostgresHome.ts"
import { unusedModelSettings } from "../routing/ModelCatalog.ts"
import { AppConfig, type Settings, unknownText, unknownVariables } from "../settings/AppConfig.ts"
import { ignoredParameters } from "../sql/DatabaseClient.ts"
import { meetsRequirements } from "../sql/ServerRequirements.ts"
import type { Check } from "./AdminBodies.ts"
import { checkedSettings } from "./CheckedSettings.ts"

/** The outcome of a check. */
export type Outcome = Omit<Check, "name">

export const ok = (detail: string): Outcome => ({ status: "ok", detail })
export const warning = (detail: string): Outcome => ({ status: "warning", detail })
export const failed = (detail: string): Outcome => ({ status: "failed", detail })

/** Less free space than this is worth a warning. */
const spaceMebibytesLow = 2_048

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host.startsWith("127.")

/** Whether the settings name a web search. A service without one works: the tool is not offered to models. */
export const searchCheck = ({ enabled, searchProvider, searchUrl }: Settings["tools"]): Outcome => {
  if (searchProvider === null) {
    return ok(
      "Models can't search the web. PARLEY_SEARCH_PROVIDER=searxng with PARLEY_SEARCH_URL names a SearXNG server of your " +
        "own, which needs no key; PARLEY_SEARCH_PROVIDER=brave, tavily or exa takes PARLEY_SEARCH_API_KEY."
    )
  }
  if (!enabled.includes("web_search")) {
    return warning(`${searchProvider} is configured, but PARLEY_TOOLS leaves web_search out.`)
  }
  const where = searchUrl === null ? "" : ` at ${new URL(searchUrl).origin}`
  return ok(`Models can search the web: ${searchProvider}${where} is asked.`)
}

/** Checks of the account and the settings that make no request, with a line for each problem. */
export const settingsChecks = Effect.gen(function* () {
  const { database, http, models } = yield* AppConfig
  const unknown = yield* unknownVariables
  const problems = [
    unknown.length === 0 ? null : unknownText(unknown),
    database.url === null ? null : ignoredParameters(database.url),
    unusedModelSettings(models),
    isLoopback(http.host)
      ? null
      : `HOST is ${http.host}, so other machines can connect, and without TLS. Put a proxy in front that ends TLS.`
  ].filter((problem) => problem !== null)
  const outcomes = problems.length === 0 ? [ok("All settings are valid.")] : problems.map(warning)
  const account: ReadonlyArray<Check> = isRoot() ? [{ name: "account", ...warning(rootText) }] : []
  return [...account, ...outcomes.map((outcome) => ({ name: "settings", ...outcome }))]
})

const databaseProblem = Effect.gen(function* () {
  const { database, dataDir } = yield* AppConfig
  if (database.url === null) return yield* examineEmbedded(dataDir)
  return yield* meetsRequirements({ url: database.url }, database)
})

const databaseCheck = databaseProblem.pipe(
  Effect.as(ok("Nothing keeps the service from using it.")),
  Effect.catch(({ message }) => Effect.succeed(failed(message)))
)

export const diskCheck = Effect.gen(function* () {
  const { dataDir } = yield* AppConfig
  const problem = yield* diskProblem(dataDir)
  if (problem !== null) return failed(problem)
  return Option.match(yield* freeSpace(dataDir), {
    onNone: () => warning("The free space of the data directory is unknown."),
    onSome: ({ directory, mebibytes }) =>
      (mebibytes < spaceMebibytesLow ? warning : ok)(`${mebibytes} MiB are free in ${directory}.`)
  })
})

const portChecks = Effect.gen(function* () {
  const { http, observability } = yield* AppConfig
  const ports = [
    { setting: "PORT", host: http.host, port: http.port },
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

/** The checks of a server that does not run, from its settings and without changing anything. */
export const localChecks: Effect.Effect<ReadonlyArray<Check>> = checkedSettings.pipe(
  Effect.flatMap((settings) =>
    Effect.gen(function* () {
      return [
        { name: "database", ...(yield* databaseCheck) },
        { name: "disk", ...(yield* diskCheck) },
        ...(yield* portChecks),
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
    return Effect.succeed(outcomes.map((outcome) => ({ name: "settings", ...outcome })))
  })
)
