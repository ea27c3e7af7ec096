import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Fleet } from "./fleet.ts"

/** A directory of its own for a benchmark, and the processes that it starts; both are gone when it ends, also by a signal. */
export const setUp = (prefix: string, pins: boolean) => {
  const directory = mkdtempSync(join(tmpdir(), prefix))
  // A database that runs as another account than root must be able to reach its files.
  chmodSync(directory, 0o755)
  const fleet = new Fleet(directory, pins)
  // Registered after the fleet's own last resort, so that nothing writes here any more.
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }))
  let leaving = false
  const leave = (exitCode: number): void => {
    // The terminal and npm may both send the signal; the second one must not cut the clearing up short.
    if (leaving) return
    leaving = true
    void fleet.stopAll().finally(() => process.exit(exitCode))
  }
  process.on("SIGINT", () => leave(130))
  process.on("SIGTERM", () => leave(143))
  return { directory, fleet }
}
