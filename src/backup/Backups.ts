import { spawn } from "node:child_process"
import { mkdir, readdir, rm } from "node:fs/promises"
import { setPriority } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Context, DateTime, Effect, Layer, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { isFree } from "../sql/AdvisoryLock.ts"
import { Database } from "../sql/Database.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import {
  backupFailures,
  lastBackupTime,
  observe,
  observedCounter,
  observedGauge
} from "../telemetry/Instruments.ts"
import { BackupFailed } from "./ArchiveFormat.ts"
import { backupDirectory, backupsIn, scheduledName, timeOfName } from "./BackupList.ts"
import { type LastBackup, lastBackup } from "./LastBackup.ts"

/** Hours between two scheduled backups of the embedded database, unless the settings say otherwise. */
const embeddedHours = 24
/** Interval of the checks whether a backup is due. */
const checkMinutes = 5
/** Time until the first check; a service that runs for a shorter time makes no backup. */
const firstCheckMinutes = 10
/** Time from a failure to the next attempt. */
const retryMinutes = 60
/** Time limit of a scheduled backup, which then ends and has failed. */
const backupHoursMax = 24
/** Length of the end of the standard error that is kept. */
const outputCharactersMax = 4_000
/** A low priority leaves the rest of the machine responsive. */
const niceness = 10
/** Time limit for the process to remove an unfinished archive. */
const endSeconds = 10

/** The scheduled backups of this installation. */
export class Backups extends Context.Service<
  Backups,
  {
    /** The directory of scheduled backups. */
    readonly directory: string
    /** Hours between two scheduled backups; 0: none are made. */
    readonly everyHours: number
    /** The newest good backup, made by the schedule or by hand; null where there is none. */
    readonly last: Effect.Effect<LastBackup | null, DatabaseUnavailable>
    /** The reason for the failure of this process's latest attempt; null after a success. */
    readonly failure: Effect.Effect<string | null>
  }
>()("parley/backup/Backups") {
  /** Makes backups while the scope is open. Of several processes of one database, one at a time makes one. */
  static readonly layer: Layer.Layer<Backups, never, AppConfig | Database | SqlClient.SqlClient> =
    Layer.effect(
      Backups,
      Effect.gen(function* () {
        const settings = yield* AppConfig
        const sql = yield* SqlClient.SqlClient
        const { isEmbedded } = yield* Database
        const directory = backupDirectory(settings)
        const everyHours = settings.backup.everyHours ?? (isEmbedded ? embeddedHours : 0)
        const last = Effect.provideService(lastBackup, SqlClient.SqlClient, sql)
        let [failure, failures, seen]: [string | null, number, LastBackup | null] = [null, 0, null]
        yield* observe([
          observedGauge(lastBackupTime.of(), () => Math.floor((seen?.at.epochMilliseconds ?? 0) / 1_000)),
          observedCounter(backupFailures.of(), () => failures)
        ])

        const fail = (error: BackupFailed) =>
          Effect.suspend(() => {
            failure = error.message
            failures++
            return Effect.logError(`The scheduled backup failed: ${error.message}`)
          })
        const refresh = Effect.map(last, (found) => {
          seen = found
          return found
        })
        // Another process makes one, or a restore or a move is under way.
        const isBusy = Effect.map(orUnavailable(isFree(sql, "maintenance")), (free) => !free)
        const look = Effect.gen(function* () {
          const isMissing = everyHours !== 0 && isDue(yield* refresh, everyHours, yield* DateTime.now)
          if (isMissing && (yield* isBusy)) return
          if (isMissing) yield* makeScheduled(directory, settings.backup.keep)
          failure = null
          yield* refresh
        }).pipe(
          // If several processes begin at once, all but one fail.
          Effect.catchTag("BackupFailed", (error) =>
            Effect.flatMap(isBusy, (busy) => (busy ? Effect.void : Effect.fail(error)))
          ),
          Effect.as(checkMinutes),
          Effect.catchTags({
            BackupFailed: (error) => Effect.as(fail(error), retryMinutes),
            DatabaseUnavailable: () => Effect.succeed(checkMinutes)
          }),
          Effect.catchCause((cause) =>
            Effect.as(Effect.logError("The scheduled backup failed.", cause), retryMinutes)
          )
        )
        const watch = Effect.flatMap(look, (minutes) => Effect.sleep(`${minutes} minutes`)).pipe(
          Effect.repeat(Schedule.forever),
          Effect.delay(`${firstCheckMinutes} minutes`)
        )
        // The metric is read before the first look.
        yield* Effect.ignore(refresh).pipe(
          Effect.andThen(watch),
          Effect.provideService(AppConfig, settings),
          Effect.forkScoped
        )
        return { directory, everyHours, last, failure: Effect.sync(() => failure) }
      })
    )
}

/** True if a backup is due: there is none, or the newest is that many hours old. */
export const isDue = (last: LastBackup | null, everyHours: number, now: DateTime.Utc): boolean =>
  last === null || !DateTime.isLessThan(now, DateTime.add(last.at, { hours: everyHours }))

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
 * Creates a backup at `path` in a separate process with the environment of this one, because packing and
 * encryption would delay the requests of the service. The process ends with the effect, and removes
 * unfinished files.
 */
const runBackup = (path: string): Effect.Effect<void, BackupFailed> =>
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

const unusable = (directory: string) => (error: unknown) =>
  new BackupFailed({ message: `${directory} can't be used: ${failureReason(error)}.` })

/** The drafts of backups that can't be under way any more. */
const abandonedIn = Effect.fnUntraced(function* (directory: string) {
  const names = yield* Effect.tryPromise({ try: () => readdir(directory), catch: unusable(directory) })
  const before = DateTime.subtract(yield* DateTime.now, { hours: backupHoursMax })
  return names
    .filter((name) => name.endsWith(".partial"))
    .filter((name) =>
      Option.exists(timeOfName(name.slice(0, -".partial".length)), (at) => DateTime.isLessThan(at, before))
    )
    .map((name) => join(directory, name))
})

/** Removes the oldest of the scheduled backups, so that `keep` remain; other files stay. */
export const prune = Effect.fnUntraced(function* (keep: number) {
  const { backups, directory } = yield* backupsIn
  const old = [...backups.slice(keep).map(({ path }) => path), ...(yield* abandonedIn(directory))]
  for (const path of old) {
    yield* Effect.tryPromise({ try: () => rm(path, { force: true }), catch: unusable(dirname(path)) })
    yield* Effect.logInfo(`Removed the old backup ${path}.`)
  }
  return old
})

const makeScheduled = Effect.fn("Backups.make")(function* (directory: string, keep: number) {
  yield* Effect.tryPromise({
    try: () => mkdir(directory, { recursive: true, mode: 0o700 }),
    catch: unusable(directory)
  })
  const path = join(directory, scheduledName(yield* DateTime.now))
  yield* runBackup(path)
  yield* Effect.logInfo(`Made and verified the backup ${path}.`)
  yield* prune(keep)
})
