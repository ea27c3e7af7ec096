import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { checkedSettings } from "./admin/CheckedSettings.ts"
import { announce } from "./Announcement.ts"
import { AppLayer } from "./App.ts"
import { Drain } from "./http/Drain.ts"
import { isRoot, rootText } from "./postgres/PostgresHome.ts"
import { explain, failureOf, handleStrayErrors, teardown } from "./ProcessEnd.ts"
import { endAtSecondSignal, reloadAtHangup } from "./ProcessSignals.ts"
import { AppConfig, unknownVariables } from "./settings/AppConfig.ts"
import { thisBuild } from "./settings/Build.ts"
import { BeforeImport } from "./settings/InstalledPackage.ts"
import { unknownText } from "./settings/SettingProblem.ts"
import { ignoredParameters } from "./sql/DatabaseClient.ts"
import { makeLogOutput, standardSink } from "./telemetry/LogOutput.ts"
import { telemetryLayer } from "./telemetry/Telemetry.ts"

/** Timeout for writing the last lines of a process that ends. */
const outputSeconds = 1

const output = makeLogOutput(standardSink(1))
const log = makeLogOutput(standardSink(2))

const isInterruptedByHand = endAtSecondSignal(log)
const packagesRun = handleStrayErrors(log)

/** Warns before anything is started, since a misspelled variable may be why the start fails. */
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
  yield* announce(output)
  // A signal interrupts this fiber. The server still answers while it drains, and is closed afterwards. After
  // Ctrl+C it doesn't wait for a proxy.
  yield* Effect.never.pipe(Effect.onInterrupt(() => drain.shutdown({ atOnce: isInterruptedByHand() })))
}).pipe(Effect.provide(AppLayer))

const configured = warn.pipe(
  Effect.andThen(program),
  Effect.provide(telemetryLayer(thisBuild, log)),
  Effect.provide(Layer.effect(AppConfig, checkedSettings)),
  Effect.provideService(BeforeImport, packagesRun)
)

/** The process ends with what was written last, unless the output has no reader. */
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
