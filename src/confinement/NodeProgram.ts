import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** A program that the service runs in a process of its own, because what it reads comes from users. */
export interface NodeProgram {
  readonly entry: string
  /** The files and directories that it may read: those of the program itself. */
  readonly readable: ReadonlyArray<string>
  /** Words in front of its command that confine the process. */
  readonly launcher: ReadonlyArray<string>
}

/**
 * A program's source, or beside a bundle its other entry. `self` is the calling module, two directories below
 * the project, and the other paths are relative to it.
 */
export const nodeProgram = (self: string, source: string, bundled: string): NodeProgram => {
  const pathOf = (relative: string): string => realpathSync(fileURLToPath(new URL(relative, self)))
  if (!self.endsWith(".ts")) {
    const entry = pathOf(bundled)
    return { entry, readable: [join(dirname(entry), "/")], launcher: [] }
  }
  const project = pathOf("../..")
  return {
    entry: pathOf(source),
    readable: [join(project, "src/"), join(project, "package.json"), join(pathOf("../../node_modules"), "/")],
    launcher: []
  }
}

/** Bounds on a process. */
export interface ProcessBounds {
  /** The bound on V8's heap, in bytes. */
  readonly heapBytes: number
  /** Processor seconds after which the kernel ends the process. */
  readonly cpuSeconds: number
  /** The priority, as `nice` takes it; 0 is that of the service. */
  readonly niceness: number
}

const mebibyte = 1_048_576

/**
 * The command that runs a program. The kernel bounds its processor time, even if the service is killed; the
 * launcher drops its privileges, and Node denies it files, child processes, threads and code generation from
 * strings. It leaves no memory dump.
 */
export const commandOf = (
  { entry, launcher, readable }: NodeProgram,
  { cpuSeconds, heapBytes, niceness }: ProcessBounds,
  args: ReadonlyArray<string> = []
) => ({
  file: "/bin/sh",
  args: [
    "-c",
    `ulimit -c 0; ulimit -t ${Math.ceil(cpuSeconds)}; exec "$@"`,
    "sh",
    "nice",
    "-n",
    String(niceness),
    ...launcher,
    process.execPath,
    "--permission",
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${Math.floor(heapBytes / mebibyte)}`,
    "--disallow-code-generation-from-strings",
    "--disable-warning=ExperimentalWarning",
    entry,
    ...args
  ]
})
