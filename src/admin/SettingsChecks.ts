import { Effect } from "effect"
import { AppConfig, unknownText, unknownVariables } from "../AppConfig.ts"
import { unusedModelSettings } from "../models/ModelCatalog.ts"
import type { Check } from "./AdminApi.ts"

export const check = (name: string, status: Check["status"], detail: string): Check => ({
  name,
  status,
  detail
})

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || host.startsWith("127.")

/** What the settings allow but the operator may not have meant. */
export const settingsChecks = Effect.gen(function* () {
  const { http, models } = yield* AppConfig
  const unknown = yield* unknownVariables
  const unused = unusedModelSettings(models)
  const checks: ReadonlyArray<Check> = [
    ...(unknown.length === 0 ? [] : [check("settings", "warning", unknownText(unknown))]),
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
