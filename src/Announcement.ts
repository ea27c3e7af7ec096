import { networkInterfaces } from "node:os"
import { Effect, Redacted } from "effect"
import { HttpServer } from "effect/http"
import {
  firstAccount,
  firstKeyNotice,
  reachable,
  urlOf,
  setUpUrl,
  type StartupKey,
  startupNotice
} from "./admin/Startup.ts"
import type { FirstAccount } from "./auth/Onboarding.ts"
import { databaseElsewhere } from "./postgres/DataDisk.ts"
import { Router } from "./routing/Router.ts"
import { AppConfig } from "./settings/AppConfig.ts"
import { buildText, thisBuild } from "./settings/Build.ts"
import { variable } from "./settings/Setting.ts"
import { settingsTable } from "./settings/SettingsTable.ts"
import type { LogOutput } from "./telemetry/LogOutput.ts"

/** The source of the key that was given in PARLEY_INIT_API_KEY, for the shown shell commands. */
const givenKey = Effect.map(variable(`${settingsTable.auth.initApiKey.name}_FILE`), (file): StartupKey => ({
  _tag: "Given",
  name: settingsTable.auth.initApiKey.name,
  file: file ?? null
}))

const newKey = ({ key, user }: FirstAccount): StartupKey =>
  key === null ? { _tag: "Existing", email: user.email } : { _tag: "First", key: Redacted.value(key) }

/** Addresses of this machine that are shown. */
const networksMax = 3

/** The addresses at which other machines reach a service with this address. */
const networkUrls = (url: string): ReadonlyArray<string> => {
  const { hostname, port } = new URL(url)
  if (reachable(url) === url) return /^(127\.|\[::1\]|localhost$)/.test(hostname) ? [] : [url]
  return Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .slice(0, networksMax)
    .map(({ address }) => urlOf(address, Number(port)))
}

/** The standard output has what can't be seen again: the operator must know that it was lost. */
const warnOfLostOutput = (output: LogOutput) =>
  Effect.andThen(
    output.idle,
    Effect.suspend(() =>
      output.lost() === 0
        ? Effect.void
        : Effect.logWarning(
            "The standard output can't be written: the address, and at the first start the first API key, were not shown. " +
              "`npx parley key create` makes another key, and `npx parley setup-link` another link."
          )
    )
  )

/**
 * Shows the operator where the service is and a request to try; at the very first start, the first key before
 * that.
 */
export const announce = Effect.fnUntraced(function* (output: LogOutput) {
  const print = (text: string) => Effect.sync(() => output.write(text.replace(/\n$/, "")))
  const { auth, dataDir, database, http } = yield* AppConfig
  const router = yield* Router
  const server = yield* HttpServer.HttpServer
  const first =
    auth.initApiKey === null
      ? yield* firstAccount((user, key) => print(firstKeyNotice(user, Redacted.value(key))))
      : null
  const notice = startupNotice({
    url: reachable(HttpServer.formatAddress(server.address)),
    networkUrls: networkUrls(HttpServer.formatAddress(server.address)),
    version: buildText(thisBuild),
    models: yield* router.describe,
    adminUrl: http.adminPort === null ? null : urlOf(http.adminHost, http.adminPort),
    dataDir,
    databaseDir: database.url === null ? yield* databaseElsewhere(dataDir) : null,
    key: first === null ? yield* givenKey : newKey(first),
    setUpUrl: yield* setUpUrl
  })
  yield* print(notice)
  yield* Effect.forkScoped(warnOfLostOutput(output))
})
