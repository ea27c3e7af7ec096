import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Trouble } from "./child.mjs"
import { root } from "./node24.mjs"

const waitSecondsMax = 900
const pollMilliseconds = 200
/** A lock without a process id in it was cut short, or is being written right now. */
const unwrittenMilliseconds = 5_000

const isRunning = (id) => {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

const isAbandoned = (path) => {
  try {
    const id = Number(readFileSync(path, "utf8"))
    return id > 0 ? !isRunning(id) : Date.now() - statSync(path).mtimeMs > unwrittenMilliseconds
  } catch {
    return false
  }
}

const take = (path) => {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" })
    return true
  } catch (error) {
    if (error.code !== "EEXIST") throw new Trouble(`Can't write ${path}: ${error.message}`)
    return false
  }
}

/**
 * Removes an abandoned lock. Of two processes that found it so, one may have replaced it by its own before
 * the other comes to move it away: that one is put back. Only a third process that takes the lock in that
 * instant gets in beside it.
 */
const clear = (path) => {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (!isAbandoned(aside)) linkSync(aside, path)
  } catch {
    // Another process was quicker.
  } finally {
    rmSync(aside, { force: true })
  }
}

/** Does the work while no other process of this checkout does work of the same name. */
export const withLock = async (name, work) => {
  const directory = join(root, "dist")
  const path = join(directory, `.${name}.lock`)
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    throw new Trouble(`Can't make ${directory}: ${error.message}`)
  }
  const deadline = Date.now() + waitSecondsMax * 1_000
  for (let waited = false; !take(path); waited = true) {
    if (isAbandoned(path)) clear(path)
    else if (!waited) process.stderr.write(`Waiting for another command (${name})…\n`)
    if (Date.now() > deadline)
      throw new Trouble(`Another command holds ${path}. If none runs, remove that file.`)
    await sleep(pollMilliseconds)
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}
