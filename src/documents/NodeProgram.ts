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
 * A program's source, or beside a bundle its other entry. `self` is the calling module, two directories below the project, and the
 * other paths are relative to it.
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

/**
 * The command that runs a program. `setup` are commands of the shell before it, such as limits of the kernel, and `flags` are
 * those of Node, which denies it files, child processes and threads. It leaves no memory dump.
 */
export const nodeCommand = (
  program: NodeProgram,
  {
    args = [],
    flags,
    prefix = [],
    setup = ""
  }: {
    readonly setup?: string
    readonly prefix?: ReadonlyArray<string>
    readonly flags: ReadonlyArray<string>
    readonly args?: ReadonlyArray<string>
  }
) => ({
  file: "/bin/sh",
  args: [
    "-c",
    `ulimit -c 0; ${setup}exec "$@"`,
    "sh",
    ...prefix,
    ...program.launcher,
    process.execPath,
    "--permission",
    ...program.readable.map((path) => `--allow-fs-read=${path}`),
    ...flags,
    program.entry,
    ...args
  ]
})
