import { readdirSync, readFileSync } from "node:fs"

/** What Linux tells about processes: processor time, memory, children, limits. */

const ticksPerSecond = 100

const read = (path: string): string | null => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return null
  }
}

/** The fields of /proc/PID/stat after the command's name, which may hold spaces and brackets. */
const statFields = (pid: number): ReadonlyArray<string> | null => {
  const text = read(`/proc/${pid}/stat`)
  return text === null ? null : text.slice(text.lastIndexOf(")") + 2).split(" ")
}
const field = (pid: number, index: number): number => Number(statFields(pid)?.[index] ?? Number.NaN)

/** Processor seconds of all threads of a process, to the nanosecond where the kernel counts so. */
export const cpuSeconds = (pid: number): number => {
  let nanoseconds = 0
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(read(`/proc/${pid}/task/${thread}/schedstat`)?.split(" ")[0] ?? Number.NaN)
    }
  } catch {
    return Number.NaN
  }
  return nanoseconds > 0 ? nanoseconds / 1e9 : (field(pid, 11) + field(pid, 12)) / ticksPerSecond
}

/** Processor seconds of processes and of those of their children that have ended. */
export const cpuSecondsWithEnded = (pids: ReadonlyArray<number>): number => {
  let seconds = 0
  for (const pid of pids) {
    const own = cpuSeconds(pid)
    const ended = (field(pid, 13) + field(pid, 14)) / ticksPerSecond
    if (!Number.isNaN(own)) seconds += own + (Number.isNaN(ended) ? 0 : ended)
  }
  return seconds
}

/** Resident memory of a process in KiB. */
export const residentKibibytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? Number.NaN)

export interface ProcessMark {
  readonly pid: number
  /** When it was started, so that a number that was given anew is not taken for the same process. */
  readonly startedAt: number
}

export const stillThere = (mark: ProcessMark): boolean =>
  field(mark.pid, 19) === mark.startedAt && statFields(mark.pid)?.[0] !== "Z"

/** The words of the command that a process was started with. */
export const commandWords = (pid: number): ReadonlyArray<string> =>
  read(`/proc/${pid}/cmdline`)?.split("\0") ?? []

export const descendants = (root: number): ReadonlyArray<ProcessMark> => {
  const children = new Map<number, Array<number>>()
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const parent = field(pid, 1)
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [pid])
    else siblings.push(pid)
  }
  const found: Array<ProcessMark> = []
  const waiting = [...(children.get(root) ?? [])]
  for (let pid = waiting.shift(); pid !== undefined; pid = waiting.shift()) {
    found.push({ pid, startedAt: field(pid, 19) })
    waiting.push(...(children.get(pid) ?? []))
  }
  return found
}

/** How many files a process may hold open; Node raises its own bound to the hard one when it starts. */
export const openFilesMax = (): number => {
  const hard = /Max open files\s+\S+\s+(\S+)/.exec(read("/proc/self/limits") ?? "")?.[1]
  return hard === undefined || hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard)
}

/** Processor seconds that the whole machine has spent on anything, or had taken away by the machine below it. */
export const machineCpuSeconds = (): number => {
  const [, user, nice, system, , , interrupts, softInterrupts, stolen] =
    read("/proc/stat")?.split("\n")[0]?.split(/\s+/).map(Number) ?? []
  const ticks = [user, nice, system, interrupts, softInterrupts, stolen]
  return ticks.reduce<number>((sum, part) => sum + (part ?? Number.NaN), 0) / ticksPerSecond
}
