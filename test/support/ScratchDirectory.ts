import { chmodSync, mkdtempSync, readFileSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { removeDirectory } from "./removeDirectory.ts"

/** The directory in which Linux keeps files in memory. */
const memory = "/dev/shm"
/** A container may give it no more than 64 MB. A run has several databases at once, of some 20 MB each. */
const bytesMin = 2_000_000_000
/** Others may pass through it: an embedded server that root starts runs as another account. */
const mode = 0o711

const isRoomy = (): boolean => {
  try {
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n")
    const options = mounts.findLast((line) => line.split(" ")[1] === memory)?.split(" ")[3] ?? "noexec"
    const { bavail, bsize } = statfsSync(memory)
    return !/\b(noexec|ro)\b/.test(options) && bavail * bsize >= bytesMin
  } catch {
    return false
  }
}

const makeIn = (parent: string): string => {
  const path = mkdtempSync(join(parent, "parley-test-"))
  chmodSync(path, mode)
  return path
}

const make = () => {
  try {
    if (isRoomy()) return { path: makeIn(memory), inMemory: true }
  } catch {
    // It is there, and only others may write to it.
  }
  return { path: makeIn(tmpdir()), inMemory: false }
}

/**
 * The directory for everything that a run writes. It is in memory if that has room for it, because a disk
 * takes several times as much of the processor.
 */
export const scratchDirectory = Effect.acquireRelease(Effect.sync(make), ({ path }) =>
  Effect.sync(() => removeDirectory(path))
)
