import { fileURLToPath } from "node:url"
import { Fleet } from "./fleet.ts"
import { Loader } from "./load.ts"
import { Server } from "./server.ts"
import { setUp } from "./workplace.ts"

/** What every comparison needs around the servers: the mock model server, the load generator, and processes that end with it. */
export interface Rig {
  readonly fleet: Fleet
  readonly loader: Loader
  readonly upstreamPort: number
  /** For the data of the run. */
  readonly directory: string
}

export const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
export const say = (line: string): void => void process.stdout.write(`${line}\n`)
export const note = (line: string): void => void process.stderr.write(`${line}\n`)

/** The port that a program of the benchmark says it listens on. */
export const startListener = async (
  fleet: Fleet,
  name: string,
  args: ReadonlyArray<string>
): Promise<{ readonly port: number; readonly started: ReturnType<Fleet["start"]> }> => {
  const started = fleet.start(name, args, process.env, "others")
  const said = await fleet.message(started)
  if (typeof said !== "object" || said === null || !("port" in said) || typeof said.port !== "number") {
    throw new Error(`${name} did not say where it listens`)
  }
  return { port: said.port, started }
}

/** Leaves nothing running, and no file. */
export const withRig = async <A>(pins: boolean, use: (rig: Rig) => Promise<A>): Promise<A> => {
  if (process.platform !== "linux") {
    throw new Error("the benchmark reads the meters of /proc, so it runs on Linux only")
  }
  const { directory, fleet } = setUp("parley-bench-", pins)
  try {
    const upstream = await startListener(fleet, "upstream", [program("upstream.ts")])
    return await use({ fleet, directory, upstreamPort: upstream.port, loader: new Loader() })
  } finally {
    await fleet.stopAll()
  }
}

/** The plain translator of that kind, started. */
const startRaw = async (
  { fleet, upstreamPort }: Rig,
  kind: "raw" | "fold",
  name: string
): Promise<Server> => {
  const server = new Server(fleet, {
    name,
    args: [program("raw.ts"), String(upstreamPort), ...(kind === "fold" ? ["fold"] : [])],
    environment: {},
    key: null
  })
  await server.start()
  return server
}

export const startReferences = async (rig: Rig): Promise<Readonly<Record<"raw" | "fold", Server>>> => ({
  raw: await startRaw(rig, "raw", "raw"),
  fold: await startRaw(rig, "fold", "raw-fold")
})

/** Runs a benchmark as the whole of a process, which ends with 1 if it answers false or fails. */
export const asProgram = async (run: () => Promise<boolean>): Promise<void> => {
  try {
    if (!(await run())) process.exitCode = 1
  } catch (error) {
    note(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
