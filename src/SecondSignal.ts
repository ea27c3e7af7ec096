import { Clock } from "effect"
import { constants } from "node:os"

/**
 * One request to stop may come several times: from the terminal to everyone, and once more from each parent that passes it
 * on. What comes this soon after the first is the same one.
 */
const echoMillis = 500

const stopSignals = ["SIGINT", "SIGTERM"] as const

/**
 * The first signal begins an orderly end, which may take long; with a second one the process ends at once, with the exit
 * code that tells of the signal. The embedded PostgreSQL notices that, and stops by itself.
 */
export const endAtSecondSignal = (): void => {
  const clock = Clock.Clock.defaultValue()
  let first: bigint | null = null
  for (const signal of stopSignals) {
    process.on(signal, () => {
      const now = clock.monotonicTimeNanosUnsafe()
      first ??= now
      if (now - first < BigInt(echoMillis) * 1_000_000n) return
      process.stderr.write(`parley: stopped at once by a second ${signal}\n`)
      process.exit(128 + constants.signals[signal])
    })
  }
}
