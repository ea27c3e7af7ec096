import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { succeeded, Trouble } from "./child.mjs"
import { root, runNode } from "./node24.mjs"
import { isStamped, removeOldParts, replace, stampOf, writeStamp } from "./output.mjs"

const directory = join(root, "dist", "app")

/** The sources of the web application, with the contracts that it shares with the service. */
const sources = [
  "src/console",
  "src/admin",
  "src/api",
  "src/domain",
  "vite.config.ts",
  "package-lock.json",
  "scripts/build-app.mjs"
]

const brotli = promisify(brotliCompress)
const best = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }

/** The page itself is small, and the service writes its base path into it. */
const isCompressed = (name) => name.startsWith("assets/")

/** The file, and beside it what the service sends to clients that take it compressed. */
const encodingsOf = async (name, contents) =>
  isCompressed(name)
    ? [
        [`${name}.br`, await brotli(contents, best)],
        [`${name}.gz`, await promisify(gzip)(contents, { level: 9 })],
        [name, contents]
      ]
    : [[name, contents]]

const contentsOf = (output) => Buffer.from(output.type === "chunk" ? output.code : output.source)

const bundle = async () => {
  const { build } = await import("vite")
  const { output } = await build({
    configFile: join(root, "vite.config.ts"),
    root: join(root, "src/console/app"),
    logLevel: "error",
    build: { write: false, manifest: true }
  })
  const files = await Promise.all(output.map((one) => encodingsOf(one.fileName, contentsOf(one))))
  // The page last: what it loads must be there already.
  return files.flat().toSorted(([a], [b]) => Number(a === "index.html") - Number(b === "index.html"))
}

const write = async (target) => {
  const files = await bundle()
  for (const [name, contents] of files) {
    const path = join(target, name)
    mkdirSync(dirname(path), { recursive: true })
    replace(path, contents)
  }
  removeOldParts(join(target, "assets"), new Set(files.map(([name]) => join(target, name))))
}

const currentStamp = () => stampOf(sources)

export const isAppBuilt = () => isStamped(directory, currentStamp())

const self = fileURLToPath(import.meta.url)

/**
 * Builds the web application into that directory, in a process of the pinned Node, which is newer than the
 * caller's may be.
 */
export const buildAppInto = async (target) => {
  // Any other value of the variable would build the development version of React.
  const result = await runNode([self, target], { cwd: root, env: { NODE_ENV: "production" } })
  if (!succeeded(result)) throw new Trouble("The build of the web application failed.")
}

/** Builds the web application into dist/app, compressed too. */
export const buildApp = async () => {
  const stamp = currentStamp()
  await buildAppInto(directory)
  writeStamp(directory, stamp)
}

if (process.argv[1] === self) await write(process.argv[2])
