import { spawnSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Fleet } from "./fleet.ts"
import { Loader } from "./load.ts"

/**
 * Runs the surroundings of every comparison: the mock model server, the load generator, and processes that
 * end with it.
 */
export interface Rig {
  readonly fleet: Fleet
  readonly loader: Loader
  readonly upstreamPort: number
  /** The program of the service. */
  readonly entry: string
  /** The directory for the data of the run. */
  readonly directory: string
}

export const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
export const say = (line: string): void => void process.stdout.write(`${line}\n`)
export const note = (line: string): void => void process.stderr.write(`${line}\n`)

/** Starts a program of the benchmark, which says on which port it listens. */
export const startListener = async (fleet: Fleet, file: string) => {
  const started = fleet.start(file, [program(file)], "others")
  const { port } = await fleet.message<{ readonly port: number }>(started)
  return { port, started }
}

/** Builds the bundle, so that what is measured is what the sources say now. */
const build = (): string => {
  const { status } = spawnSync(process.execPath, [program("../run.mjs"), "build"], { stdio: "inherit" })
  if (status !== 0) throw new Error("the build failed")
  return program("../../dist/main.js")
}

/**
 * Leaves nothing running, and no file, also when a signal ends the benchmark. If it `pins`, the measured
 * server has processors of its own. `entry` is measured instead of the service as it is built from the
 * sources.
 */
export const withRig = async <A>(
  { entry = build(), pins }: { readonly pins: boolean; readonly entry?: string },
  use: (rig: Rig) => Promise<A>
): Promise<A> => {
  if (process.platform !== "linux") {
    throw new Error("the benchmark reads the meters of /proc, so it runs on Linux only")
  }
  const directory = mkdtempSync(join(tmpdir(), "parley-bench-"))
  // A database that runs as another account than root must be able to reach its files.
  chmodSync(directory, 0o755)
  const fleet = new Fleet(directory, pins)
  // After the fleet's own listener, so that nothing writes there any more.
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }))
  const leave = (exitCode: number) => () => void fleet.stopAll().finally(() => process.exit(exitCode))
  process.on("SIGINT", leave(130)).on("SIGTERM", leave(143))
  try {
    const { port } = await startListener(fleet, "upstream.ts")
    return await use({ fleet, directory, entry, upstreamPort: port, loader: new Loader() })
  } finally {
    await fleet.stopAll()
  }
}

/** Runs a benchmark as the whole of a process, which ends with 1 if it answers false or fails. */
export const asProgram = async (run: () => Promise<boolean>): Promise<void> => {
  try {
    if (!(await run())) process.exitCode = 1
  } catch (error) {
    note(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
