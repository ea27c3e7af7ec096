import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findNode, root } from "./node24.mjs"

/** One start of the service, its first with a new database. */
const startSecondsMax = 120
const stopSecondsMax = 30

const directory = join(root, "dist")

/** Where dist/main.js looks for the code: its own name for the build, with the Node that the service runs with. */
const placeOf = (node) => {
  const [key] = /(?<=compiled-)[0-9a-f]{16}/.exec(readFileSync(join(directory, "main.js"), "utf8"))
  const found = execFileSync(node, ["--print", "`${process.version}-${process.arch}`"], { encoding: "utf8" })
  return join(directory, `compiled-${key}-${found.trim()}`)
}

/** The usual settings: a model server is set, which needs not answer, because most installations have one. */
const environment = (dataDir) => ({
  PATH: process.env.PATH,
  HOST: "127.0.0.1",
  PORT: "0",
  PARLEY_DATA_DIR: dataDir,
  OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
  OPENAI_MODEL: "none"
})

/** Starts the service until it is ready and stops it; whether it wrote what V8 has compiled into `target`. */
const startOnce = (node, target, dataDir) =>
  new Promise((resolve) => {
    const child = spawn(node, [join(directory, "main.js"), "--write-compiled", target], {
      cwd: dataDir,
      env: environment(dataDir),
      stdio: ["ignore", "pipe", "ignore"]
    })
    let timer = setTimeout(() => child.kill("SIGKILL"), startSecondsMax * 1_000)
    let output = ""
    child.stdout.on("data", (text) => {
      if (/is ready on/.test(output)) return
      output += text
      if (!/is ready on/.test(output)) return
      clearTimeout(timer)
      timer = setTimeout(() => child.kill("SIGKILL"), stopSecondsMax * 1_000)
      child.kill("SIGTERM")
    })
    const end = (succeeded) => {
      clearTimeout(timer)
      resolve(succeeded)
    }
    child.once("error", () => end(false))
    child.once("exit", (code) => end(code === 0 && existsSync(target)))
  })

export const isCompiledAhead = () => existsSync(join(directory, "main.js")) && existsSync(placeOf(findNode()))

/**
 * Starts the bundle once, and keeps beside it what V8 has compiled until then, so that later starts needn't. The service
 * starts without it too: where this doesn't succeed, the place stays empty, and isn't tried again for this build.
 */
export const compileAhead = async () => {
  const node = findNode()
  const place = placeOf(node)
  const fresh = join(directory, `.compiled-${process.pid}`)
  const dataDir = mkdtempSync(join(tmpdir(), "parley-build-"))
  try {
    if (!(await startOnce(node, fresh, dataDir))) {
      process.stderr.write(
        "The service could not be started for its code to be compiled ahead: it starts slower.\n"
      )
      mkdirSync(fresh, { recursive: true })
    }
    rmSync(place, { recursive: true, force: true })
    renameSync(fresh, place)
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
    rmSync(fresh, { recursive: true, force: true })
  }
}
