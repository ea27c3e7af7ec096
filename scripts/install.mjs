import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, realpathSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { run, succeeded, Trouble } from "./child.mjs"
import { withLock } from "./lock.mjs"
import { root } from "./node24.mjs"

const packagesOf = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages
  } catch {
    return null
  }
}

/**
 * True for a package that must be installed here; an optional one must if it is made for this platform.
 * Others may rightly be missing: those that come with a package for another platform, and those that ask for
 * a certain C library.
 */
const isWanted = (entry, dev) => {
  if (entry.dev === true && !dev) return false
  if (entry.optional !== true && entry.devOptional !== true) return entry.peer !== true
  const isForHere = entry.os?.includes(process.platform) && entry.cpu?.includes(process.arch)
  return isForHere === true && entry.libc === undefined
}

/** npm writes node_modules/.package-lock.json last, so that it says what a finished installation holds. */
const isInstalled = (directory, dev) => {
  const lockfile = join(directory, "package-lock.json")
  const wanted = packagesOf(lockfile)
  const installed = packagesOf(join(directory, "node_modules/.package-lock.json"))
  if (wanted === null) throw new Trouble(`${lockfile} is missing or broken.`)
  if (installed === null) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true
    const found = installed[path]
    if (found === undefined) return !isWanted(entry, dev)
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

/** The command and first arguments of npm: under `npm start` that npm, whatever the PATH says. */
export const npm = () => {
  const path = process.env.npm_execpath
  return path?.endsWith("npm-cli.js") ? [process.execPath, [path]] : ["npm", []]
}

const install = async (directory) => {
  const lockfile = relative(root, join(directory, "package-lock.json"))
  process.stderr.write(
    `Installing the packages that ${lockfile} names (npm ci). This takes a minute or two, and is done once.\n`
  )
  const [command, args] = npm()
  // No package needs its install script, the ones for this platform are needed even where npm is set to leave
  // optional packages out, and the machine's own Node, about which npm would warn, isn't the one that runs
  // them.
  const flags = [
    "--ignore-scripts",
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--loglevel=error"
  ]
  // Standard output belongs to the command that follows.
  const result = await run(command, [...args, "ci", ...flags], {
    cwd: directory,
    stdio: ["ignore", 2, 2]
  }).catch((error) => {
    throw new Trouble(`npm, which comes with Node, could not be started: ${error.message}`)
  })
  if (!succeeded(result))
    throw new Trouble(`npm ci did not succeed (${result.signal ?? `exit code ${result.code}`}).`)
}

/**
 * Makes git run `.githooks` in this clone of the project. It changes nothing where there is no git, where the
 * project is a folder of another repository, and where hooks are set up already.
 */
export const useHooks = (directory = root) => {
  const git = (...args) => {
    const { status, stdout } = spawnSync("git", args, { cwd: directory, encoding: "utf8" })
    return status === 0 ? stdout.trim() : null
  }
  const top = git("rev-parse", "--show-toplevel")
  if (top === null || realpathSync(top) !== realpathSync(directory)) return
  if (git("config", "--get", "core.hooksPath") !== null) return
  try {
    const hooks = readdirSync(resolve(directory, git("rev-parse", "--git-path", "hooks") ?? ".git/hooks"))
    if (hooks.some((name) => !name.endsWith(".sample"))) return
  } catch {
    // There is no directory of hooks.
  }
  git("config", "core.hooksPath", ".githooks")
}

/**
 * Installs what the package-lock.json of the directory names, if something of it is missing. `dev`: what
 * building and testing needs, too.
 */
export const ensureInstalled = async ({ dev = true, directory = root } = {}) => {
  if (isInstalled(directory, dev)) return
  await withLock("install", async () => {
    if (!isInstalled(directory, dev)) await install(directory)
    if (directory === root) useHooks()
  })
}
