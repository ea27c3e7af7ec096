import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { closeSync, openSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { cpuSeconds, cpuSecondsWithEnded, descendants, type ProcessMark, stillThere } from "./procfs.ts"

/** The processes that the benchmark starts, and the promise that none of them outlives it. */

const stopSecondsMax = 15
const orphanSecondsMax = 5

export interface Started {
  readonly name: string
  readonly pid: number
  readonly child: ChildProcess
  readonly logFile: string
}

/** Which processors the measured server has, and which everything else. */
interface Cores {
  readonly server: string
  readonly others: string
  readonly all: string
}

/** Null leaves all processors to all. */
const coresToUse = (): Cores | null => {
  const last = availableParallelism() - 1
  if (last < 1 || spawnSync("taskset", ["-V"]).status !== 0) return null
  const [server, others] = last < 3 ? ["0", `1-${last}`] : ["0-1", `2-${last}`]
  return { server, others, all: `0-${last}` }
}

const pin = (pid: number, cores: string): void => void spawnSync("taskset", ["-acp", cores, String(pid)])

export class Fleet {
  readonly cores: Cores | null
  private readonly logDirectory: string
  private readonly running = new Set<Started>()
  private endedCpuSeconds = 0

  /** If it `pins`, the measured server has processors of its own, off which this process goes, too. */
  constructor(logDirectory: string, pins: boolean) {
    this.logDirectory = logDirectory
    this.cores = pins ? coresToUse() : null
    if (this.cores !== null) pin(process.pid, this.cores.others)
    process.on("exit", () => this.killAll())
  }

  start(
    name: string,
    args: ReadonlyArray<string>,
    environment: NodeJS.ProcessEnv,
    place: keyof Cores
  ): Started {
    const logFile = join(this.logDirectory, `${name}.log`)
    const log = openSync(logFile, "a")
    const pinned = this.cores === null ? [] : ["taskset", "-c", this.cores[place]]
    const [command = process.execPath, ...rest] = [...pinned, process.execPath, ...args]
    const child = spawn(command, rest, { env: environment, stdio: ["ignore", log, log, "ipc"] })
    closeSync(log)
    child.on("error", () => {})
    if (child.pid === undefined) throw new Error(`${name} did not start: ${command}`)
    const started = { name, pid: child.pid, child, logFile }
    this.running.add(started)
    return started
  }

  /** Moves what a server has started, its database, off the server's own processors. */
  moveChildrenAside(started: Started): void {
    if (this.cores === null) return
    for (const { pid } of descendants(started.pid)) pin(pid, this.cores.others)
  }

  alive(started: Started): boolean {
    return started.child.exitCode === null && started.child.signalCode === null
  }

  log(started: Started): string {
    return readFileSync(started.logFile, "utf8")
  }

  logTail(started: Started): string {
    return this.log(started).split("\n").slice(-20).join("\n")
  }

  /** What the benchmark and everything that it started has spent so far. */
  cpuSeconds(): number {
    let seconds = cpuSeconds(process.pid) + this.endedCpuSeconds
    for (const started of this.running) seconds += spentBy(started)
    return seconds
  }

  /** The next thing that a child says; fails when it ends instead. */
  message(started: Started): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`${started.name} ended:\n${this.logTail(started)}`))
      started.child.once("exit", ended)
      started.child.once("message", (said) => {
        started.child.off("exit", ended)
        resolve(said)
      })
    })
  }

  async stop(started: Started): Promise<void> {
    const children = descendants(started.pid)
    this.endedCpuSeconds += spentBy(started)
    if (this.alive(started)) started.child.kill("SIGTERM")
    const deadline = performance.now() + stopSecondsMax * 1000
    while (this.alive(started) && performance.now() < deadline) await sleep(10)
    if (this.alive(started)) started.child.kill("SIGKILL")
    while (this.alive(started)) await sleep(10)
    this.running.delete(started)
    await endOrphans(children)
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.running].map((started) => this.stop(started)))
  }

  /** The last resort, when there is no time to wait. */
  private killAll(): void {
    for (const started of this.running) {
      const children = descendants(started.pid)
      started.child.kill("SIGKILL")
      for (const mark of children) if (stillThere(mark)) signal(mark, "SIGQUIT")
    }
  }
}

const spentBy = (started: Started): number => {
  const children = descendants(started.pid).map((mark) => mark.pid)
  const own = cpuSeconds(started.pid)
  return (Number.isNaN(own) ? 0 : own) + cpuSecondsWithEnded(children)
}

const signal = (mark: ProcessMark, name: NodeJS.Signals): void => {
  try {
    process.kill(mark.pid, name)
  } catch {
    // It ended in between, which is what was wanted.
  }
}

/** A database whose server was killed stays behind; SIGQUIT ends PostgreSQL at once. */
const endOrphans = async (children: ReadonlyArray<ProcessMark>): Promise<void> => {
  const left = children.filter(stillThere)
  for (const mark of left) signal(mark, "SIGQUIT")
  const deadline = performance.now() + orphanSecondsMax * 1000
  while (left.some(stillThere) && performance.now() < deadline) await sleep(20)
  for (const mark of left) if (stillThere(mark)) signal(mark, "SIGKILL")
}
