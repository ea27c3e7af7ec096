import { readdirSync, readFileSync } from "node:fs"

/** Facts of Linux about processes: processor time, memory, children, limits. */

const ticksPerSecond = 100

const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

/**
 * A field of /proc/PID/stat after the command's name, which may hold spaces and brackets; NaN without such a
 * process.
 */
const field = (pid: number, index: number): number => {
  const text = read(`/proc/${pid}/stat`)
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[index] ?? Number.NaN)
}

/**
 * Processor seconds of all threads of a process, to the nanosecond where the kernel counts so; NaN for one
 * that has ended.
 */
export const cpuSeconds = (pid: number): number => {
  let nanoseconds = 0
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0] || Number.NaN)
    }
  } catch {
    return Number.NaN
  }
  return nanoseconds > 0 ? nanoseconds / 1e9 : (field(pid, 11) + field(pid, 12)) / ticksPerSecond
}

/** Processor seconds of everything that a process has started, also of what has ended there since. */
export const cpuSecondsBelow = (root: number): number => {
  const seconds = descendants(root).map((pid) => {
    const ended = (field(pid, 13) + field(pid, 14)) / ticksPerSecond
    return (cpuSeconds(pid) || 0) + (ended || 0)
  })
  return seconds.reduce((sum, one) => sum + one, 0)
}

/** Resident memory of a process in KiB. */
export const residentKibibytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? Number.NaN)

/** The processes that a process has started, directly or not. */
export const descendants = (root: number): ReadonlyArray<number> => {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger)
  const children = Map.groupBy(pids, (pid) => field(pid, 1))
  const found = [...(children.get(root) ?? [])]
  // The list grows while it is walked.
  for (const pid of found) found.push(...(children.get(pid) ?? []))
  return found
}

/** Most files that a process may hold open; Node raises its own bound to the hard one when it starts. */
export const openFilesMax = (): number => {
  const hard = /Max open files\s+\S+\s+(\S+)/.exec(read("/proc/self/limits"))?.[1]
  return hard === undefined || hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard)
}

/**
 * Processor seconds that the whole machine has spent on anything, or had taken away by the machine below it.
 */
export const machineCpuSeconds = (): number => {
  const [, user, nice, system, , , interrupts, softInterrupts, stolen] =
    read("/proc/stat").split("\n")[0]?.split(/\s+/).map(Number) ?? []
  const ticks = [user, nice, system, interrupts, softInterrupts, stolen]
  return ticks.reduce<number>((sum, part) => sum + (part ?? Number.NaN), 0) / ticksPerSecond
}
