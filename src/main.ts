import { constants, networkInterfaces } from "node:os"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, FiberSet, Layer, Predicate, Redacted, type Runtime, Clock } from "effect"
import { HttpServer } from "effect/http"
import { leaveAddress, reachable, urlOf } from "./admin/AddressFile.ts"
import { checkedSettings } from "./admin/CheckedSettings.ts"
import { Reload } from "./admin/Reload.ts"
import { firstAccount, firstKeyNotice, setUpUrl, type StartupKey, startupNotice } from "./admin/Startup.ts"
import { AppLayer } from "./App.ts"
import type { FirstAccount } from "./auth/Onboarding.ts"
import { Drain } from "./http/Drain.ts"
import { databaseElsewhere } from "./postgres/DataDisk.ts"
import { isRoot, rootText } from "./postgres/PostgresHome.ts"
import { Router } from "./routing/Router.ts"
import { AppConfig, unknownVariables } from "./settings/AppConfig.ts"
import { buildText, thisBuild } from "./settings/Build.ts"
import { BeforeImport } from "./settings/InstalledPackage.ts"
import { variable } from "./settings/Setting.ts"
import { unknownText } from "./settings/SettingProblem.ts"
import { settingsTable } from "./settings/SettingsTable.ts"
import { ignoredParameters } from "./sql/DatabaseClient.ts"
import { makeLogOutput, standardSink } from "./telemetry/LogOutput.ts"
import { traceOf } from "./telemetry/StrayError.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

/**
 * One request to stop may arrive several times: from the terminal, and again from each parent process that forwards it.
 * A signal this soon after the first counts as the same request.
 */
const repeatMillis = 500

const stopSignals = ["SIGINT", "SIGTERM"] as const

/** What the process writes at its end may wait for so long. */
const outputSeconds = 1

const output = makeLogOutput(standardSink(1))
const log = makeLogOutput(standardSink(2))

/**
 * The first signal starts an orderly shutdown, which may take long; a second one ends the process at once, with the exit
 * code of that signal. The embedded PostgreSQL then stops by itself. Returns whether the first signal was Ctrl+C.
 */
const endAtSecondSignal = (): (() => boolean) => {
  const clock = Clock.Clock.defaultValue()
  let first: { readonly signal: NodeJS.Signals; readonly at: bigint } | null = null
  for (const signal of stopSignals) {
    process.on(signal, () => {
      const now = clock.monotonicTimeNanosUnsafe()
      first ??= { signal, at: now }
      if (now - first.at < BigInt(repeatMillis) * 1_000_000n) return
      log.write(`parley: stopped at once by a second ${signal}`)
      process.exit(128 + constants.signals[signal])
    })
  }
  return () => first?.signal === "SIGINT"
}

const isInterruptedByHand = endAtSecondSignal()

/**
 * An exception that nothing catches ends the process. The service's own code leaves no rejection without a handler either; a package of the
 * catalog must not end the answers of others by one. Returns what is told that packages run.
 */
const handleStrayErrors = (): Effect.Effect<void> => {
  let runsPackages = false
  const endWith = (error: unknown) => {
    const shown = runsPackages || !(error instanceof Error) ? traceOf(error) : error.stack
    log.write(`parley: uncaught exception\n${shown}`)
    process.exit(1)
  }
  process.on("uncaughtException", endWith)
  process.on("unhandledRejection", (error) => {
    if (!runsPackages) return endWith(error)
    log.write(`parley: a package of the catalog left a rejection without a handler\n${traceOf(error)}`)
  })
  return Effect.sync(() => {
    runsPackages = true
  })
}

const packagesRun = handleStrayErrors()

/** The conventional exit code for a configuration that can't be used (EX_CONFIG). */
const configurationExitCode = 78

/** Where a shell finds the key that was given in PARLEY_INIT_API_KEY. */
const givenKey = Effect.map(variable(`${settingsTable.auth.initApiKey.name}_FILE`), (file): StartupKey => ({
  _tag: "Given",
  name: settingsTable.auth.initApiKey.name,
  file: file ?? null
}))

const newKey = ({ key, user }: FirstAccount): StartupKey =>
  key === null ? { _tag: "Existing", email: user.email } : { _tag: "First", key: Redacted.value(key) }

/** Addresses of this machine that are shown. */
const networksMax = 3

/** Where other machines reach a service with this address. */
const networkUrls = (url: string): ReadonlyArray<string> => {
  const { hostname, port } = new URL(url)
  if (reachable(url) === url) return /^(127\.|\[::1\]|localhost$)/.test(hostname) ? [] : [url]
  return Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .slice(0, networksMax)
    .map(({ address }) => urlOf(address, Number(port)))
}

const print = (text: string) => Effect.sync(() => output.write(text.replace(/\n$/, "")))

/** The standard output has what can't be seen again: the operator must know that it was lost. */
const warnOfLostOutput = output.idle.pipe(
  Effect.andThen(
    Effect.suspend(() =>
      output.lost() === 0
        ? Effect.void
        : Effect.logWarning(
            "The standard output can't be written: the address, and at the first start the first API key, were not shown. " +
              "`npx parley key create` makes another key, and `npx parley setup-link` another link."
          )
    )
  )
)

/** Shows the operator where the service is and a request to try; at the very first start, the first key before that. */
const announce = Effect.gen(function* () {
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
})

/**
 * A hangup asks for the files to be read again, as of a daemon. On a terminal it means that the terminal was closed, and ends
 * the process.
 */
const reloadAtHangup = Effect.gen(function* () {
  if ([process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)) return
  const { here } = yield* Reload
  const run = yield* FiberSet.makeRuntime()
  const failed = Effect.catchTag(here, "DatabaseUnavailable", () =>
    Effect.logError("The plans and models can't be read again while the database doesn't answer.")
  )
  const reload = () => void run(Effect.ignore(failed))
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("SIGHUP", reload)),
    () => Effect.sync(() => process.off("SIGHUP", reload))
  )
})

/** So that the command line finds the service. */
const leaveOperatorAddress = Effect.gen(function* () {
  const { dataDir, http } = yield* AppConfig
  const server = yield* HttpServer.HttpServer
  const url =
    http.adminPort === null ? HttpServer.formatAddress(server.address) : urlOf(http.adminHost, http.adminPort)
  yield* leaveAddress(dataDir, reachable(url), process.pid)
}).pipe(Effect.provide(NodeServices.layer))

/** Comes before anything is started, since a misspelled variable may be why the start fails. */
const warn = Effect.gen(function* () {
  const unknown = yield* unknownVariables
  if (unknown.length > 0) yield* Effect.logWarning(unknownText(unknown))
  const { url } = (yield* AppConfig).database
  const ignored = url === null ? null : ignoredParameters(url)
  if (ignored !== null) yield* Effect.logWarning(ignored)
  if (isRoot()) yield* Effect.logWarning(rootText)
})

/** The service from its start to the end of the last stream. */
const program = Effect.gen(function* () {
  const drain = yield* Drain
  yield* reloadAtHangup
  yield* leaveOperatorAddress
  yield* announce
  yield* Effect.forkScoped(warnOfLostOutput)
  // A signal interrupts this: the server still answers while it drains, and is closed afterwards. Who presses Ctrl+C waits for no proxy.
  yield* Effect.never.pipe(Effect.onInterrupt(() => drain.shutdown({ atOnce: isInterruptedByHand() })))
}).pipe(Effect.provide(AppLayer))

const configured = warn.pipe(
  Effect.andThen(program),
  Effect.provide(telemetryLayer(thisBuild, log)),
  Effect.provide(Layer.effect(AppConfig, checkedSettings)),
  Effect.provideService(BeforeImport, packagesRun)
)

const configurationProblems: ReadonlyArray<unknown> = [
  "SettingsInvalid",
  "CatalogInvalid",
  "PlansInvalid",
  "LicenseInvalid"
]

const isConfigurationProblem = (error: unknown): boolean =>
  Predicate.hasProperty(error, "_tag") && configurationProblems.includes(error._tag)

/** Why the start failed, with a stack trace only if the failure is unexpected. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  const expected = cause.reasons.every((reason) => reason._tag === "Fail")
  return expected ? adviceOn(messageOf(error)) : Cause.pretty(cause)
}

/** Adds what to change if the system names only the address that can't be used. */
const adviceOn = (message: string): string =>
  message.startsWith("listen ") ? `${message}. HOST and PORT say where to listen.` : message

/** The message of an error, or of its cause if it has none itself, such as for a port that is in use. */
const messageOf = (error: unknown): string => {
  if (!Predicate.hasProperty(error, "message")) return String(error)
  const message = String(error.message)
  return message === "" && Predicate.hasProperty(error, "cause") ? messageOf(error.cause) : message
}

/** A stop that was asked for is no failure. */
const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? null : exit.cause

const teardown: Runtime.Teardown = (exit, onExit) => {
  const cause = failureOf(exit)
  if (cause === null) return onExit(0)
  onExit(isConfigurationProblem(Cause.squash(cause)) ? configurationExitCode : 1)
}

/** The process ends with what was written last, unless nobody reads it. */
const main = Effect.scoped(configured).pipe(
  Effect.onExit((exit) =>
    Effect.suspend(() => {
      const cause = failureOf(exit)
      if (cause !== null) log.write(`parley: ${explain(cause)}`)
      return Effect.all([output.idle, log.idle]).pipe(
        Effect.timeoutOption(`${outputSeconds} seconds`),
        Effect.interruptible
      )
    })
  )
)

process.on("exit", () => {
  output.close()
  log.close()
})

NodeRuntime.runMain(main, { teardown, disableErrorReporting: true })
