import { Effect } from "effect"
import { AppConfig, unknownVariables } from "../AppConfig.ts"
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
  const { http } = yield* AppConfig
  const unknown = yield* unknownVariables
  const checks: ReadonlyArray<Check> = [
    ...(unknown.length === 0
      ? []
      : [check("settings", "warning", `These variables mean nothing here: ${unknown.join(", ")}.`)]),
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
