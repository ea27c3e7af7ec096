import { portProblem } from "../http/Server.ts"
import { diskProblem, freeSpace } from "../postgres/DataDisk.ts"
import { examineEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { isRoot, rootText } from "../postgres/PostgresAccount.ts"
import { unusedModelSettings } from "../routing/ModelCatalog.ts"
import { AppConfig, unknownText, type Settings, unknownVariables } from "../settings/AppConfig.ts"
import { ignoredParameters } from "../sql/DatabaseClient.ts"
import { meetsRequirements } from "../sql/ServerRequirements.ts"
import type { Check } from "./AdminBodies.ts"
import { checkedSettings } from "./CheckedSettings.ts"
import { Effect, Option } from "effect"

export const check = (name: string, status: Check["status"], detail: string): Check => ({
  name,
  status,
  detail
})

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host.startsWith("127.")

/** What the settings say of the web search. That models can't search is no fault: the tool is just not offered. */
export const searchCheck = ({ enabled, searchProvider, searchUrl }: Settings["tools"]): Check => {
  if (searchProvider === null) {
    const detail =
      "Models can't search the web. PARLEY_SEARCH_PROVIDER=searxng with PARLEY_SEARCH_URL names a SearXNG server of your " +
      "own, which needs no key; PARLEY_SEARCH_PROVIDER=brave, tavily or exa takes PARLEY_SEARCH_API_KEY."
    return check("web search", "ok", detail)
  }
  if (!enabled.includes("web_search")) {
    const detail = `${searchProvider} is configured, but PARLEY_TOOLS leaves web_search out.`
    return check("web search", "warning", detail)
  }
  const where = searchUrl === null ? "" : ` at ${new URL(searchUrl).origin}`
  return check("web search", "ok", `Models can search the web: ${searchProvider}${where} is asked.`)
}

/** As whom the process runs, where that is worth a warning. */
export const accountChecks = (): ReadonlyArray<Check> =>
  isRoot() ? [check("account", "warning", rootText)] : []

/** What the settings allow but the operator may not have meant. */
export const settingsChecks = Effect.gen(function* () {
  const { database, http, models } = yield* AppConfig
  const unknown = yield* unknownVariables
  const ignored = database.url === null ? null : ignoredParameters(database.url)
  const unused = unusedModelSettings(models)
  const checks: ReadonlyArray<Check> = [
    ...(unknown.length === 0 ? [] : [check("settings", "warning", unknownText(unknown))]),
    ...(ignored === null ? [] : [check("settings", "warning", ignored)]),
    ...(unused === null ? [] : [check("settings", "warning", unused)]),
    ...(isLoopback(http.host)
      ? []
      : [
          check(
            "settings",
            "warning",
            `HOST is ${http.host}, so other machines can connect, and without TLS. Put a proxy in front that ends TLS.`
          )
        ])
  ]
  return checks.length === 0 ? [check("settings", "ok", "Nothing to say against them.")] : checks
})

/** Less free space than this is worth a warning. */
const spaceMebibytesLow = 2_048

const databaseProblem = Effect.gen(function* () {
  const { database, dataDir } = yield* AppConfig
  if (database.url === null) return yield* examineEmbedded(dataDir)
  return yield* meetsRequirements({ url: database.url }, database)
})

const database = databaseProblem.pipe(
  Effect.map(() => check("database", "ok", "Nothing keeps the service from using it.")),
  Effect.catch(({ message }) => Effect.succeed(check("database", "failed", message)))
)

export const diskCheck = Effect.gen(function* () {
  const { dataDir } = yield* AppConfig
  const problem = yield* diskProblem(dataDir)
  if (problem !== null) return check("disk", "failed", problem)
  return Option.match(yield* freeSpace(dataDir), {
    onNone: () => check("disk", "warning", "How much space is free in the data directory can't be told."),
    onSome: ({ directory, mebibytes }) =>
      check(
        "disk",
        mebibytes < spaceMebibytesLow ? "warning" : "ok",
        `${mebibytes} MiB are free in ${directory}.`
      )
  })
})

const ports = Effect.gen(function* () {
  const { http, observability } = yield* AppConfig
  const wanted = [
    { name: "PORT", host: http.host, port: http.port },
    { name: "PARLEY_METRICS_PORT", host: observability.metricsHost, port: observability.metricsPort }
  ]
  return yield* Effect.forEach(wanted, ({ host, name, port }) =>
    port === null
      ? Effect.succeed([])
      : Effect.map(portProblem(host, port), (problem) => [
          problem === null
            ? check("port", "ok", `${name} is free.`)
            : check("port", "failed", `${problem} ${name} names it.`)
        ])
  )
})

/** What can be found out about a server that does not run, from its settings and without changing anything. */
export const localChecks: Effect.Effect<ReadonlyArray<Check>> = checkedSettings.pipe(
  Effect.flatMap((settings) =>
    Effect.gen(function* () {
      const found = [yield* database, yield* diskCheck, ...(yield* ports).flat()]
      return [...found, ...accountChecks(), ...(yield* settingsChecks)]
    }).pipe(Effect.provideService(AppConfig, settings))
  ),
  Effect.catchTag("SettingsInvalid", ({ problems, unknown }) =>
    Effect.succeed([
      ...problems.map(({ allowed, details = [], name, seen }) =>
        check(
          "settings",
          "failed",
          `${name} is ${[seen, details.join("; ")].join(" ").trimEnd()}, but must be ${allowed}.`
        )
      ),
      ...(unknown.length === 0 ? [] : [check("settings", "warning", unknownText(unknown))])
    ])
  )
)
