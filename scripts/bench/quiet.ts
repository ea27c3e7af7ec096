import { setTimeout as sleep } from "node:timers/promises"
import type { Fleet } from "./fleet.ts"
import { machineCpuSeconds } from "./procfs.ts"

/**
 * Who else is at work on the machine. What others do makes the waits longer, and by that changes also what the servers
 * spend: events that had to wait leave together.
 */

/** Processors that others may keep busy before a measurement counts as disturbed. */
export const othersMax = 0.35
const lookSeconds = 0.5

export interface Quiet {
  /** Returns when others are quiet, or after `waitSecondsMax`. */
  readonly wait: () => Promise<void>
  /** Starts to watch; what it returns tells how many processors others have kept busy since then. */
  readonly watch: () => () => number
}

export const quietOf = (fleet: Fleet, waitSecondsMax: number): Quiet => {
  const watch = () => {
    const at = performance.now()
    const foreign = machineCpuSeconds() - fleet.cpuSeconds()
    return () =>
      Math.max(0, (machineCpuSeconds() - fleet.cpuSeconds() - foreign) / ((performance.now() - at) / 1000))
  }
  const wait = async () => {
    const deadline = performance.now() + waitSecondsMax * 1000
    while (performance.now() < deadline) {
      const others = watch()
      await sleep(lookSeconds * 1000)
      if (others() <= othersMax) return
    }
  }
  return { wait, watch }
}
