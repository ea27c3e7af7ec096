import { createHash } from "node:crypto"
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { root } from "./node24.mjs"

/**
 * The days for which parts of an older build stay: a running service or page loads some of its parts late.
 */
const oldPartDaysMax = 7

const filesIn = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .toSorted()
        .flatMap((name) => filesIn(join(path, name)))
    : [path]

/**
 * The stamp of a build: a hash of the sources, which are paths relative to the project, without those below
 * `except`.
 */
export const stampOf = (sources, except = []) => {
  const hash = createHash("sha256")
  for (const file of sources.flatMap((source) => filesIn(join(root, source)))) {
    const path = relative(root, file)
    if (except.some((one) => path.startsWith(one))) continue
    hash.update(`${path}\0`).update(readFileSync(file)).update("\0")
  }
  return hash.digest("hex")
}

const stampPath = (directory) => join(directory, ".stamp")

/** True if the directory holds the build that has this stamp. */
export const isStamped = (directory, stamp) => {
  try {
    return readFileSync(stampPath(directory), "utf8") === stamp
  } catch {
    return false
  }
}

/** Written after the build itself. */
export const writeStamp = (directory, stamp) => replace(stampPath(directory), stamp)

/** A process that starts meanwhile reads the old file or the new one, never half of one. */
export const replace = (path, contents) => {
  const fresh = join(dirname(path), `.${basename(path)}.${process.pid}`)
  writeFileSync(fresh, contents)
  renameSync(fresh, path)
}

/** Removes what older builds left in the directory. `current` holds the paths that stay. */
export const removeOldParts = (directory, current) => {
  const oldest = Date.now() - oldPartDaysMax * 86_400_000
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (!name.startsWith(".") && !current.has(path) && statSync(path).mtimeMs < oldest)
      rmSync(path, { recursive: true })
  }
}
