import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { StdioOptions } from "node:child_process"

/** The operating system's account under which the embedded server runs; null is the account of this process. */
export interface PostgresAccount {
  readonly uid: number
  readonly gid: number
}

/** What a program left behind: its exit code (null when a signal ended it) and the end of what it wrote. */
export interface ProgramResult {
  readonly code: number | null
  readonly output: string
}

/** Characters of a program's output that are kept for an error message. */
const outputCharactersMax = 4000

/** Seconds that initdb and the small probes may take; a slow disk makes initdb take several. */
const programSeconds = 120

/** PostgreSQL refuses to run as root, so root starts it as this account, which every Unix has. */
const unprivilegedAccount = "nobody"

export const isRoot = (): boolean => process.getuid?.() === 0

/** Reads the unprivileged account from the text of /etc/passwd; some systems number it -2. */
export const findUnprivilegedAccount = (passwd: string): PostgresAccount | null => {
  for (const line of passwd.split("\n")) {
    const [name, , uid, gid] = line.split(":")
    if (name === unprivilegedAccount && uid !== undefined && gid !== undefined) {
      return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }
    }
  }
  return null
}

/** The part of node's spawn options that makes a child run as `account`. */
export const identity = (account: PostgresAccount | null) =>
  account === null ? {} : { uid: account.uid, gid: account.gid }

/** Runs a program to its end as `account`, never inheriting this process's environment. */
export const runProgram = (options: {
  readonly account: PostgresAccount | null
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}): Effect.Effect<ProgramResult> =>
  Effect.callback<ProgramResult>((resume) => {
    const stdio: StdioOptions = ["ignore", "pipe", "pipe"]
    const child = spawn(options.file, options.args, {
      ...identity(options.account),
      cwd: options.cwd,
      env: { ...options.env },
      stdio
    })
    let output = ""
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(-outputCharactersMax)
    }
    child.stdout?.on("data", keep)
    child.stderr?.on("data", keep)
    child.once("error", (error) => resume(Effect.succeed({ code: null, output: error.message })))
    child.once("close", (code) => resume(Effect.succeed({ code, output: output.trim() })))
    return Effect.sync(() => child.kill("SIGKILL"))
  }).pipe(
    Effect.timeoutOrElse({
      duration: `${programSeconds} seconds`,
      orElse: () =>
        Effect.succeed({ code: null, output: `${options.file} took longer than ${programSeconds} seconds` })
    })
  )
