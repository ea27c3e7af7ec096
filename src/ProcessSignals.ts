import { constants } from "node:os"
import { Clock, Effect, FiberSet } from "effect"
import { Reload } from "./admin/Reload.ts"
import type { LogOutput } from "./telemetry/LogOutput.ts"

/**
 * One request to stop may arrive several times: from the terminal, and again from each parent process that
 * forwards it. A signal this soon after the first counts as the same request.
 */
const repeatMillis = 500

const stopSignals = ["SIGINT", "SIGTERM"] as const

/**
 * The first signal starts an orderly shutdown, which may take long; a second one ends the process at once,
 * with the exit code of that signal. The embedded PostgreSQL then stops by itself. Returns whether the first
 * signal was Ctrl+C.
 */
export const endAtSecondSignal = (log: LogOutput): (() => boolean) => {
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

/**
 * Reads the plans and models again at a hangup, as daemons do. On a terminal, a hangup means that the
 * terminal was closed, and ends the process.
 */
export const reloadAtHangup = Effect.gen(function* () {
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
