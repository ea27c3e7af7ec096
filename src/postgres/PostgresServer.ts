import { spawn } from "node:child_process"
import { openSync, closeSync } from "node:fs"
import { Clock, Deferred, Effect, FileSystem } from "effect"
import { EmbeddedPostgresFailed, identity, type PostgresBinaries, runProgram } from "./PostgresBinaries.ts"
import type { PostgresHome } from "./PostgresHome.ts"

export interface PostgresServer {
  readonly pid: number
  /** Completes when the server has exited, for any reason. */
  readonly exited: Effect.Effect<void>
  /** Ends every session, writes a checkpoint and waits until the server has exited. */
  readonly stop: Effect.Effect<void>
}

/** Seconds until a server must accept connections; after a crash it first replays its log. */
const startSeconds = 120
/** Seconds for a fast shutdown, which writes a checkpoint; then for an immediate one, which doesn't. */
const fastStopSeconds = 30
const immediateStopSeconds = 5
const pollMillis = 20
/** Bytes after which the server's log is put aside at the next start; one older log is kept. */
const logBytesMax = 10 * 1024 * 1024
const logTailCharactersMax = 2000

/**
 * Runs the server as its child and stops it when this process has ended for any reason: the pipe on
 * descriptor 3 then ends, and SIGINT is PostgreSQL's fast shutdown. Its first output is the server's pid.
 */
const supervisor = `
"$@" 3<&- </dev/null >&2 &
server=$!
echo $server
( while read -r _ <&3; do :; done; kill -INT $server ) </dev/null >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $server
code=$?
kill $watcher 2>/dev/null
exit $code
`

/** Starts the server on the home's data directory and waits until it accepts connections. */
export const startPostgresServer = Effect.fnUntraced(function* (
  home: PostgresHome,
  binaries: PostgresBinaries,
  settings: Readonly<Record<string, string>>
) {
  const fs = yield* FileSystem.FileSystem
  const log = `${home.directory}/postgres.log`
  const logBytesBefore = yield* rotateLog(log)
  const startedAt = yield* Clock.currentTimeMillis
  const exited = yield* Deferred.make<void>()
  const pid = yield* Deferred.make<number | null>()
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const child = yield* Effect.try({
    try: () => {
      const logFile = openSync(log, "a", 0o600)
      try {
        return spawn(
          "/bin/sh",
          ["-c", supervisor, "sh", `${binaries.native}/bin/postgres`, "-D", home.data, ...args],
          {
            ...identity(home.account),
            cwd: home.directory,
            env: { ...binaries.env },
            // Its own process group: the terminal's Ctrl-C is for this process, which ends the server when it
            // is done.
            detached: true,
            stdio: ["ignore", "pipe", logFile, "pipe"]
          }
        )
      } finally {
        closeSync(logFile)
      }
    },
    catch: (error) => new EmbeddedPostgresFailed({ message: `Can't start PostgreSQL: ${String(error)}` })
  })
  const gone = () => {
    Deferred.doneUnsafe(pid, Effect.succeed(null))
    Deferred.doneUnsafe(exited, Effect.void)
  }
  child.once("error", gone)
  child.once("exit", gone)
  child.stdout?.once("data", (chunk: Buffer) =>
    Deferred.doneUnsafe(pid, Effect.succeed(Number(chunk.toString())))
  )
  const livenessPipe = child.stdio[3]
  // Closing the pipe notifies the supervisor. An error only means that the supervisor ended first.
  livenessPipe?.on("error", () => {})
  const running = yield* Effect.raceFirst(
    Effect.flatMap(Deferred.await(pid), (started) => untilReady(home, started, startedAt)),
    Effect.as(Deferred.await(exited), null)
  ).pipe(
    Effect.timeoutOrElse({ duration: `${startSeconds} seconds`, orElse: () => Effect.succeed(null) }),
    Effect.onInterrupt(() => Effect.sync(() => livenessPipe?.destroy()))
  )
  if (running === null) {
    livenessPipe?.destroy()
    const text = yield* fs.readFile(log).pipe(
      Effect.map((bytes) => new TextDecoder().decode(bytes.subarray(Number(logBytesBefore)))),
      Effect.orElseSucceed(() => "")
    )
    return yield* new EmbeddedPostgresFailed({
      message: `PostgreSQL did not start. The end of ${log}:\n${text.slice(-logTailCharactersMax)}`
    })
  }
  return {
    pid: running,
    exited: Deferred.await(exited),
    stop: stopProcess(running, Deferred.isDone(exited))
  } satisfies PostgresServer
})

/** Waits until the server says in its pid file that it accepts connections. */
const untilReady = Effect.fnUntraced(function* (home: PostgresHome, pid: number | null, startedAt: number) {
  if (pid === null) return null
  while (true) {
    const file = yield* readPidFile(home)
    // The file of an earlier run may still lie there, in a container even with the same pid.
    const isOfThisRun = file?.pid === pid && file.startedSeconds >= Math.floor(startedAt / 1000)
    if (isOfThisRun && file.ready) return pid
    yield* Effect.sleep(pollMillis)
  }
})

const readPidFile = Effect.fnUntraced(function* (home: PostgresHome) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(`${home.data}/postmaster.pid`).pipe(Effect.orElseSucceed(() => ""))
  const lines = text.split("\n")
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 1) return null
  return { pid, startedSeconds: Number(lines[2] ?? 0), ready: lines[7]?.trim() === "ready" }
})

const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch (error) {
    // EPERM means that there is such a process, though not ours.
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Fast shutdown, then immediate, then kill; each step is bounded. */
const stopProcess = (pid: number, gone: Effect.Effect<boolean>): Effect.Effect<void> => {
  const until = (seconds: number) =>
    Effect.gen(function* () {
      while (!(yield* gone)) yield* Effect.sleep(pollMillis)
      return true
    }).pipe(Effect.timeoutOrElse({ duration: `${seconds} seconds`, orElse: () => Effect.succeed(false) }))
  return Effect.gen(function* () {
    if (yield* gone) return
    signal(pid, "SIGINT")
    if (yield* until(fastStopSeconds)) return
    yield* Effect.logWarning("PostgreSQL did not stop in time; asking for an immediate shutdown")
    signal(pid, "SIGQUIT")
    if (yield* until(immediateStopSeconds)) return
    signal(pid, "SIGKILL")
    yield* until(immediateStopSeconds)
  })
}

/**
 * Stops a server that still runs on the data directory although its owner has gone, and clears a pid file
 * whose number belongs to another program by now. To be called by the directory's owner only.
 */
export const stopOrphan = Effect.fnUntraced(function* (home: PostgresHome) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* readPidFile(home)
  if (file === null || !signal(file.pid, 0)) return
  if (!(yield* isServerOf(home, file.pid))) {
    yield* fs.remove(`${home.data}/postmaster.pid`, { force: true })
    return
  }
  yield* Effect.logWarning(`Stopping the PostgreSQL server ${file.pid}, whose owner has gone`)
  yield* stopProcess(
    file.pid,
    Effect.sync(() => !signal(file.pid, 0))
  )
  if (signal(file.pid, 0)) {
    return yield* new EmbeddedPostgresFailed({
      message: `The PostgreSQL server with pid ${file.pid} still runs on ${home.data} and does not stop`
    })
  }
})

/**
 * A server's working directory is its data directory; where /proc doesn't tell, its command line names it.
 */
const isServerOf = Effect.fnUntraced(function* (home: PostgresHome, pid: number) {
  const fs = yield* FileSystem.FileSystem
  if (process.platform === "linux") {
    return yield* fs.readLink(`/proc/${pid}/cwd`).pipe(
      Effect.map((cwd) => cwd === home.data),
      Effect.orElseSucceed(() => false)
    )
  }
  const { output } = yield* runProgram("/bin/ps", ["-p", String(pid), "-o", "command="])
  return output.includes(home.data)
})

/** Puts a log that has grown too long aside; the answer is how many bytes the log has now. */
const rotateLog = Effect.fnUntraced(function* (log: string) {
  const fs = yield* FileSystem.FileSystem
  const size = yield* fs.stat(log).pipe(
    Effect.map((stat) => stat.size),
    Effect.orElseSucceed(() => 0n)
  )
  if (size <= logBytesMax) return size
  yield* fs.rename(log, `${log}.1`)
  return 0n
})
