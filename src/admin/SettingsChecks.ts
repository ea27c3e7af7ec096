import { Effect } from "effect"
import { AppConfig, type Settings, unknownText, unknownVariables } from "../settings/AppConfig.ts"
import { unusedModelSettings } from "../routing/ModelCatalog.ts"
import { ignoredParameters } from "../sql/DatabaseClient.ts"
import { isRoot, rootText } from "../postgres/PostgresAccount.ts"
import type { Check } from "./ServerBody.ts"

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
