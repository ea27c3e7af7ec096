import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { cpuSeconds, cpuSecondsBelow, descendants, machineCpuSeconds } from "./procfs.ts"

const stopSecondsMax = 15
const lookSeconds = 0.5

/**
 * Processors that other work may keep busy before a measurement counts as disturbed. Other work makes the
 * waits longer, and by that changes also what the servers spend: events that had to wait leave together.
 */
export const othersMax = 0.35

export interface Started {
  readonly name: string
  readonly pid: number
  readonly child: ChildProcess
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

/** The processes that a benchmark starts, none of which outlives it. */
export class Fleet {
  readonly cores: Cores | null
  private readonly directory: string
  private readonly running = new Set<Started>()
  private endedCpuSeconds = 0

  /** If it `pins`, the measured server has processors of its own, off which this process goes, too. */
  constructor(directory: string, pins: boolean) {
    this.directory = directory
    this.cores = pins ? coresToUse() : null
    if (this.cores !== null) pin(process.pid, this.cores.others)
    // The last resort, when there is no time to wait.
    process.on("exit", () => {
      for (const { child } of this.running) child.kill()
    })
  }

  /** Starts Node with these arguments. Its output goes to a file of that name. */
  start(
    name: string,
    args: ReadonlyArray<string>,
    place: keyof Cores,
    environment: NodeJS.ProcessEnv = process.env
  ): Started {
    const log = openSync(this.logFile(name), "a")
    const pinned = this.cores === null ? [] : ["taskset", "-c", this.cores[place]]
    const [command = process.execPath, ...rest] = [...pinned, process.execPath, ...args]
    const child = spawn(command, rest, { env: environment, stdio: ["ignore", log, log, "ipc"] })
    closeSync(log)
    child.on("error", () => {})
    if (child.pid === undefined) throw new Error(`${name} did not start: ${command}`)
    const started = { name, pid: child.pid, child }
    this.running.add(started)
    return started
  }

  /** Moves what a server has started, its database, off the server's own processors. */
  moveChildrenAside(started: Started): void {
    if (this.cores === null) return
    for (const pid of descendants(started.pid)) pin(pid, this.cores.others)
  }

  logTail({ name }: Started): string {
    return readFileSync(this.logFile(name), "utf8").split("\n").slice(-20).join("\n")
  }

  private logFile(name: string): string {
    return join(this.directory, `${name}.log`)
  }

  /**
   * The next thing that a child says; fails when it ends instead. Nothing but our own programs speaks on this
   * channel.
   */
  message<A>(started: Started): Promise<A> {
    const { child, name } = started
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`${name} ended:\n${this.logTail(started)}`))
      child.once("exit", ended)
      child.once("message", (said) => {
        child.off("exit", ended)
        resolve(said as A)
      })
    })
  }

  /**
   * SIGTERM, and SIGKILL if that isn't enough. A database whose service was killed ends when its directory is
   * gone.
   */
  async stop(started: Started): Promise<void> {
    const { child } = started
    this.endedCpuSeconds += spentBy(started)
    const killTimer = setTimeout(() => child.kill("SIGKILL"), stopSecondsMax * 1000)
    if (child.kill()) await once(child, "exit")
    clearTimeout(killTimer)
    this.running.delete(started)
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.running].map((started) => this.stop(started)))
  }

  /** Processor time of the benchmark and everything that it started so far. */
  cpuSeconds(): number {
    const own = cpuSeconds(process.pid) + this.endedCpuSeconds
    return [...this.running].map(spentBy).reduce((sum, one) => sum + one, own)
  }

  /**
   * Starts to watch other work on the machine. The result tells how many processors it has kept busy since
   * then.
   */
  watchOthers(): () => number {
    const at = performance.now()
    const othersCpuSeconds = () => machineCpuSeconds() - this.cpuSeconds()
    const before = othersCpuSeconds()
    return () => Math.max(0, (othersCpuSeconds() - before) / ((performance.now() - at) / 1000))
  }

  /** Waits until other work is over, or for so long at most. */
  async untilQuiet(secondsMax: number): Promise<void> {
    const deadline = performance.now() + secondsMax * 1000
    while (performance.now() < deadline) {
      const others = this.watchOthers()
      await sleep(lookSeconds * 1000)
      if (others() <= othersMax) return
    }
  }
}

const spentBy = ({ pid }: Started): number => (cpuSeconds(pid) || 0) + cpuSecondsBelow(pid)
