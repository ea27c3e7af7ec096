import { Effect } from "effect"
import { createHash } from "node:crypto"
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

/**
 * The account that every Unix has for processes without rights. Many programs share it, so the server does not run as it;
 * but PostgreSQL's initdb only runs as an account that has a name.
 */
const sharedAccount = "nobody"
const sharedUids: ReadonlyArray<number> = [65_534, 4_294_967_294]

/** Ids that no distribution assigns: above those of people, and below those that Debian and systemd reserve. */
const ownIdMin = 58_000
const ownIds = 2_000

export const rootText =
  "The service runs as root. Start it as an account of its own, so that a fault in it does not reach the whole machine."

export const isRoot = (): boolean => process.getuid?.() === 0

export const isShared = ({ uid }: PostgresAccount): boolean => sharedUids.includes(uid)

/**
 * As whom initdb runs for the server's `account`, which need not have a name in the text of /etc/passwd: then under the uid
 * of `nobody`, which some systems number -2, but in the account's own group.
 */
export const initAccount = (account: PostgresAccount, passwd: string): PostgresAccount => {
  const users = passwd.split("\n").map((line) => line.split(":"))
  const uidOf = (fields: ReadonlyArray<string>) => Number(fields[2]) >>> 0
  if (users.some((fields) => fields.length > 2 && uidOf(fields) === account.uid)) return account
  const shared = users.find(([name]) => name === sharedAccount)
  return shared === undefined ? account : { uid: uidOf(shared), gid: account.gid }
}

/**
 * An account for the server in `directory` alone: a uid and a gid without a name, which neither /etc/passwd nor /etc/group
 * (their texts are `listed`) assigns. The same directory gets the same one.
 */
export const ownAccount = (directory: string, listed: ReadonlyArray<string>): PostgresAccount => {
  const taken = new Set(
    listed.flatMap((text) => text.split("\n").flatMap((line) => line.split(":").slice(2, 4).map(Number)))
  )
  const first = createHash("sha256").update(directory).digest().readUInt32BE(0)
  for (let n = 0; n < ownIds; n++) {
    const id = ownIdMin + ((first + n) % ownIds)
    if (!taken.has(id)) return { uid: id, gid: id }
  }
  return { uid: ownIdMin + (first % ownIds), gid: ownIdMin + (first % ownIds) }
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
