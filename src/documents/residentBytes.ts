import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"

/** How often the memory of a process is looked at, in milliseconds: reading a file of /proc costs next to nothing. */
export const memoryPollMillis = process.platform === "linux" ? 25 : 250

/**
 * How much of the machine's memory a process and its children hold, in bytes, of whatever kind; null when there is no such process. V8's own
 * limit doesn't count buffers, so that this is asked from outside.
 */
export const residentBytes = (pid: number): Effect.Effect<number | null> =>
  process.platform === "linux" ? fromProc(pid) : fromPs(pid)

const bytesOf = (kibibytes: string | undefined): number | null =>
  kibibytes === undefined ? null : Number(kibibytes) * 1024

const fromProc = (pid: number): Effect.Effect<number | null> =>
  Effect.promise(async () => {
    const own = await statusBytes(pid)
    // What confines the process waits for it, and holds next to nothing itself.
    const children = await readText(`/proc/${pid}/task/${pid}/children`)
    const held = await Promise.all(
      (children ?? "")
        .split(" ")
        .filter(Boolean)
        .map((child) => statusBytes(Number(child)))
    )
    return own === null ? null : held.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own)
  })

const statusBytes = async (pid: number): Promise<number | null> => {
  const status = await readText(`/proc/${pid}/status`)
  return status === null ? null : bytesOf(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1])
}

const readText = (path: string): Promise<string | null> => readFile(path, "latin1").catch(() => null)

const fromPs = (pid: number): Effect.Effect<number | null> =>
  Effect.callback((resume) => {
    execFile("/bin/ps", ["-o", "rss=", "-p", String(pid)], { env: {} }, (error, output) =>
      resume(Effect.succeed(error === null ? bytesOf(/\d+/.exec(output)?.[0]) : null))
    )
  })
