import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  execFile,
  spawn,
  type StdioOptions
} from "node:child_process"
import { readFile } from "node:fs/promises"
import { Effect } from "effect"
import { commandOf, type NodeProgram, type ProcessBounds } from "./NodeProgram.ts"

/** The end of the standard error, where V8 reports a full heap. */
const errorBytesMax = 16 * 1024

interface ConfinedProcess {
  readonly child: ChildProcessWithoutNullStreams
  /** True if V8 reported a full heap. */
  readonly isHeapFull: () => boolean
}

/**
 * Starts a program by its launcher, without an environment and in a process group of its own: Ctrl-C goes to
 * the service, which ends the process. Its standard streams are pipes; `hasChannel` adds one for messages.
 */
export const spawnConfined = (
  program: NodeProgram,
  bounds: ProcessBounds,
  { args = [], hasChannel = false }: { readonly args?: ReadonlyArray<string>; readonly hasChannel?: boolean }
): ConfinedProcess => {
  const command = commandOf(program, bounds, args)
  const stdio: StdioOptions = ["pipe", "pipe", "pipe", ...(hasChannel ? ["ipc" as const] : [])]
  const options = { cwd: "/", env: {}, stdio, detached: true }
  const child = spawn(command.file, command.args, options) as ChildProcessWithoutNullStreams
  let errors = ""
  child.stderr.setEncoding("latin1").on("data", (text: string) => {
    errors = (errors + text).slice(-errorBytesMax)
  })
  return { child, isHeapFull: () => errors.includes("heap out of memory") }
}

/** Kills a process and its launcher, which are one process group. */
export const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended already.
  }
}

/** The interval of the memory checks; reading a file of /proc is cheap. */
const memoryPollMillis = process.platform === "linux" ? 25 : 250

/** Succeeds when the process, with the children of its launcher, uses more memory. */
export const memoryExceeded = Effect.fnUntraced(function* ({ pid = 0 }: ChildProcess, bytesMax: number) {
  do yield* Effect.sleep(memoryPollMillis)
  while (((yield* residentBytes(pid)) ?? 0) <= bytesMax)
})

/**
 * The resident memory of a process and its children; null without such a process. V8's own limit doesn't
 * count buffers.
 */
const residentBytes = (pid: number): Effect.Effect<number | null> =>
  process.platform === "linux" ? fromProc(pid) : fromPs(pid)

const bytesOf = (kibibytes: string | undefined): number | null =>
  kibibytes === undefined ? null : Number(kibibytes) * 1024

const fromProc = (pid: number): Effect.Effect<number | null> =>
  Effect.promise(async () => {
    const own = await statusBytes(pid)
    // The launcher waits for the program, its child, and uses little memory itself.
    const children = await readText(`/proc/${pid}/task/${pid}/children`)
    const held = await Promise.all((children?.match(/\d+/g) ?? []).map(statusBytes))
    return own === null ? null : held.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own)
  })

const statusBytes = async (pid: number | string): Promise<number | null> => {
  const status = await readText(`/proc/${pid}/status`)
  return status === null ? null : bytesOf(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1])
}

const readText = (path: string): Promise<string | null> => readFile(path, "latin1").catch(() => null)

const fromPs = (pid: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    execFile("/bin/ps", ["-o", "rss=", "-p", String(pid)], { env: {} }, (error, output) =>
      resume(Effect.succeed(error === null ? bytesOf(/\d+/.exec(output)?.[0]) : null))
    )
  })
