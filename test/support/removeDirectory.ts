import { rmSync } from "node:fs"

/**
 * A process that ends meanwhile, and writes its last files, gets that many pauses of 100, 200, 300 …
 * milliseconds.
 */
const retriesMax = 10

/**
 * Removes a directory with all that is in it, also while a process that has just been stopped still writes
 * there.
 */
export const removeDirectory = (path: string): void =>
  rmSync(path, { recursive: true, force: true, maxRetries: retriesMax })
