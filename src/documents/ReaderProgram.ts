import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The program that reads a document in a process of its own. */
export interface ReaderProgram {
  /** Its JavaScript or TypeScript. */
  readonly entry: string
  /** The files and directories that it may read, which are those of the program itself. */
  readonly readable: ReadonlyArray<string>
  /** The words in front of its command, which confine its process. */
  readonly launcher: ReadonlyArray<string>
}

/**
 * Run from its sources, the service starts the reader's source; run as a bundle, the bundle's other entry beside it.
 * `self` is the module that asks.
 */
export const readerProgram = (self: string = import.meta.url): ReaderProgram => {
  const pathOf = (relative: string): string => realpathSync(fileURLToPath(new URL(relative, self)))
  if (!self.endsWith(".ts")) {
    const entry = pathOf("./extract.js")
    return { entry, readable: [join(dirname(entry), "/")], launcher: [] }
  }
  const project = pathOf("../..")
  return {
    entry: pathOf("./child.ts"),
    readable: [join(project, "src/"), join(project, "package.json"), join(pathOf("../../node_modules"), "/")],
    launcher: []
  }
}

/** Readers yield to everything else on the machine. */
const niceness = 10

/** How a process may live, apart from what is watched from outside. */
export interface ProcessLimits {
  readonly memoryBytes: number
  readonly cpuSeconds: number
}

/** Of the memory, what V8's heap may take: the program and its buffers need some as well. */
const heapPart = 0.75

/**
 * The command that runs the program. The kernel bounds its processor time, so that it ends even if this process doesn't live
 * to end it; the launcher takes its privileges, and Node denies it files, other processes, threads and code made from texts.
 */
export const commandOf = (program: ReaderProgram, limits: ProcessLimits, args: ReadonlyArray<string>) => ({
  file: "/bin/sh",
  args: [
    "-c",
    `ulimit -c 0; ulimit -t ${Math.ceil(limits.cpuSeconds)}; exec nice -n ${niceness} "$@"`,
    "sh",
    ...program.launcher,
    process.execPath,
    "--permission",
    ...program.readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${Math.floor((limits.memoryBytes * heapPart) / 1_048_576)}`,
    "--disallow-code-generation-from-strings",
    "--disable-warning=ExperimentalWarning",
    program.entry,
    ...args
  ]
})
