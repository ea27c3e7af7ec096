import { type ChildProcess, execFile, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, type Scope } from "effect"
import { childEnvironment } from "./childEnvironment.ts"

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/**
 * The entry that `npm run dev` starts. It takes four times as much of the processor as the bundle's to start.
 */
export const sources = pathOf("../../src/main.ts")

/** The entry that `npm start` starts. Every run of tests begins by building it, unless it is built. */
export const bundle = pathOf("../../dist/main.js")

/** The flags of Node that `npm start` starts the bundle with. */
export const serviceFlags: ReadonlyArray<string> = JSON.parse(
  readFileSync(new URL("../../scripts/node-flags.json", import.meta.url), "utf8")
)

const build = new URL("../../scripts/build.mjs", import.meta.url)

/**
 * Builds the service, and the web application if it is wanted, unless nothing has changed since they were
 * built.
 */
export const buildOnce = async (wanted: { readonly app: boolean }): Promise<void> => {
  const options = JSON.stringify({ ...wanted, quiet: true })
  await promisify(execFile)(
    process.execPath,
    ["--eval", `await (await import(${JSON.stringify(build.href)})).ensureBuilt(${options})`],
    { cwd: pathOf("../..") }
  )
}

/** The command line as `npx parley` starts it. */
export const commandLine = pathOf("../../dist/parley.js")

/** The service as a process of its own. */
export interface ServiceProcess {
  /** The address at which the service listens; waits for the start-up output. */
  readonly url: Effect.Effect<string>
  /** Everything it has written to its standard output and error so far. */
  readonly output: () => { readonly out: string; readonly err: string }
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** The exit code; null when a signal ended it. */
  readonly exit: Effect.Effect<number | null>
}

/** Resolves when the condition holds after some output, or when the process has ended. */
const afterOutput = (child: ChildProcess, met: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (met() || child.exitCode !== null || child.signalCode !== null) resolve()
    }
    child.stdout?.on("data", check)
    child.on("exit", check)
    check()
  })

/** Starts the service with these variables and none of the surrounding ones; it is killed with the scope. */
export const startService = (
  variables: Readonly<Record<string, string>>,
  entry: string = bundle
): Effect.Effect<ServiceProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    let out = ""
    let err = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [...serviceFlags, entry], {
          env: { ...childEnvironment, HOST: "127.0.0.1", PORT: "0", ...variables },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    child.stdout.setEncoding("utf8").on("data", (chunk) => (out += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk) => (err += chunk))
    const exited = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)))
    const address = /is ready on (\S+)/
    return {
      url: Effect.promise(async () => {
        await afterOutput(child, () => address.test(out))
        const url = address.exec(out)?.[1]
        if (url === undefined) throw new Error(`The service did not start.\n${out}\n${err}`)
        return url
      }),
      output: () => ({ out, err }),
      signal: (signal) => Effect.sync(() => void child.kill(signal)),
      exit: Effect.promise(() => exited)
    }
  })
