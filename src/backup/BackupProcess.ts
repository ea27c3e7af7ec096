import { spawn } from "node:child_process"
import { setPriority } from "node:os"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { BackupFailed } from "./ArchiveFormat.ts"

/** A backup that takes longer is ended, and has failed. */
export const backupHoursMax = 24
/** Characters of what the process says that are kept: the end of it. */
const outputCharactersMax = 4_000
/** A low priority leaves the rest of the machine responsive. */
const niceness = 10
/** How long the process may take to remove what it has begun. */
const endSeconds = 10

/** The command line's source, or beside a bundle its entry. `self` is the calling module. */
export const commandLineOf = (self: string = import.meta.url): string =>
  fileURLToPath(new URL(self.endsWith(".ts") ? "../cli/main.ts" : "./parley.js", self))

const start = (args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [commandLineOf(), ...args], { stdio: ["ignore", "ignore", "pipe"] })
  let output = ""
  child.stderr.on("data", (text: Buffer) => {
    output = (output + text.toString()).slice(-outputCharactersMax)
  })
  const ended = new Promise<number | string>((resolve) => {
    child.once("error", (error) => resolve(error.message))
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "no exit code"))
  })
  return { child, ended, output: () => output }
}

const lowerPriority = (pid: number | undefined) =>
  Effect.ignore(
    Effect.try(() => {
      if (pid !== undefined) setPriority(pid, niceness)
    })
  )

/**
 * Makes a backup at `path` in a process of its own, with the environment of this one: packing and encryption would keep the
 * service from its requests. It is ended with the effect, and removes what it has begun.
 */
export const runBackup = (path: string): Effect.Effect<void, BackupFailed> =>
  Effect.acquireUseRelease(
    Effect.sync(() => start(["backup", path, "--scheduled"])),
    Effect.fnUntraced(function* ({ child, ended, output }) {
      yield* lowerPriority(child.pid)
      const outcome = yield* Effect.promise(() => ended)
      if (outcome === 0) return
      const lines = output().trim().split("\n")
      const said = lines.findLast((line) => line.startsWith("parley: "))?.slice("parley: ".length)
      return yield* new BackupFailed({
        message: said ?? `The process ended with ${outcome}: ${lines.at(-1) ?? ""}`
      })
    }),
    ({ child, ended }) =>
      Effect.suspend(() => {
        if (child.exitCode !== null || child.signalCode !== null) return Effect.void
        child.kill("SIGTERM")
        return Effect.promise(() => ended).pipe(
          Effect.timeoutOption(`${endSeconds} seconds`),
          Effect.andThen(Effect.sync(() => child.kill("SIGKILL")))
        )
      })
  ).pipe(
    Effect.timeoutOrElse({
      duration: `${backupHoursMax} hours`,
      orElse: () => Effect.fail(new BackupFailed({ message: `It took longer than ${backupHoursMax} hours.` }))
    })
  )
