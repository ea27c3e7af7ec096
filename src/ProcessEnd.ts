import { Cause, Effect, Exit, Predicate, type Runtime } from "effect"
import type { LogOutput } from "./telemetry/LogOutput.ts"
import { traceOf } from "./telemetry/StrayError.ts"

/**
 * Ends the process on an uncaught exception. An unhandled rejection of the service's own code ends it, too.
 *
 * A rejection in a package of the catalog is only logged, because it must not end the answers of other
 * models. Run the returned effect once packages run.
 */
export const handleStrayErrors = (log: LogOutput): Effect.Effect<void> => {
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

/** The conventional exit code for a configuration that can't be used (EX_CONFIG). */
const configurationExitCode = 78

const configurationProblems: ReadonlyArray<unknown> = [
  "SettingsInvalid",
  "CatalogInvalid",
  "PlansInvalid",
  "LicenseInvalid"
]

const isConfigurationProblem = (error: unknown): boolean =>
  Predicate.hasProperty(error, "_tag") && configurationProblems.includes(error._tag)

/** The reason why the start failed, with a stack trace only for an unexpected failure. */
export const explain = (cause: Cause.Cause<unknown>): string => {
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
export const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? null : exit.cause

export const teardown: Runtime.Teardown = (exit, onExit) => {
  const cause = failureOf(exit)
  if (cause === null) return onExit(0)
  onExit(isConfigurationProblem(Cause.squash(cause)) ? configurationExitCode : 1)
}
