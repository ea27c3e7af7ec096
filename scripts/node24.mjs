import { existsSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { run, Trouble } from "./child.mjs"

/** The directory of the project, wherever the caller is. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The oldest Node that Effect's platform supports; the pinned one is in package.json. */
const oldestNode = [22, 19]

const isNewEnough = (version) => {
  const [major, minor] = version.split(".").map(Number)
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
}

/** The pinned binaries want glibc, which a Linux such as Alpine doesn't have. */
const hasGlibc = () => {
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime !== undefined
}

/**
 * The Node to run TypeScript and the service with: the pinned package of this platform, or else the one at
 * hand.
 */
export const findNode = () => {
  const name = `node-${process.platform}-${process.arch}`
  const pinned = join(root, "node_modules", name, "bin", "node")
  if (existsSync(pinned) && hasGlibc()) return pinned
  if (isNewEnough(process.versions.node)) return process.execPath
  throw new Trouble(
    `This needs Node ${oldestNode.join(".")} or newer, and it runs on ${process.versions.node}.\n` +
      `The package ${name}, which brings one, is not installed. Either run\n\n` +
      `  npm ci --include=optional\n\n` +
      `in ${root}, or, where there is no such package for this machine, install Node 24 from https://nodejs.org.`
  )
}

/** Runs a script with that Node, which is also the one that the script's own children find. */
export const runNode = (args, options = {}) => {
  const node = findNode()
  const path = [dirname(node), process.env.PATH ?? ""].join(delimiter)
  return run(node, args, { ...options, env: { ...process.env, PATH: path, ...options.env } })
}

/**
 * The arguments that make Node read the `.env` of the current directory. What is set already wins over it.
 */
export const envFile = () => (existsSync(".env") ? ["--env-file=.env"] : [])

/**
 * The flags of Node that the service is started with, which deploy/Dockerfile and
 * deploy/systemd/parley.service repeat (docs/decisions/speed.md). The service runs without them too, and is
 * slower.
 */
export const serviceFlags = JSON.parse(readFileSync(new URL("node-flags.json", import.meta.url), "utf8"))

/**
 * The directory of Node's compile cache, which makes every start but the first faster. Source: Node, module
 * compile cache.
 */
export const serviceEnvironment = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, "dist", ".compiled")
}
