import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Redacted } from "effect"
import { fromBytes, keyPrefix } from "../../src/auth/KeyToken.ts"
import { serviceEnvironment, serviceFlags } from "../node24.mjs"
import { commandWords, descendants } from "./procfs.ts"
import type { Recipe } from "./server.ts"

/** Parley as its launchers start it: the bundle, its embedded database, the mock model server as its only model. */

const graceSeconds = 2

export interface ParleyOptions {
  readonly entry: string
  /** Where to write a processor profile; null for none. */
  readonly profile: string | null
  readonly upstreamPort: number
  /** For the data of the run. */
  readonly directory: string
}

/** What is measured is what the sources say now. */
export const build = (): string => {
  const builder = fileURLToPath(new URL("../run.mjs", import.meta.url))
  const { status } = spawnSync(process.execPath, [builder, "build"], { stdio: "inherit" })
  if (status !== 0) throw new Error("the build failed")
  return fileURLToPath(new URL("../../dist/main.js", import.meta.url))
}

export const parleyRecipe = ({ directory, entry, profile, upstreamPort }: ParleyOptions): Recipe => {
  const profiling =
    profile === null ? [] : ["--cpu-prof", "--cpu-prof-interval=500", `--cpu-prof-dir=${resolve(profile)}`]
  const key = Redacted.value(fromBytes(keyPrefix, randomBytes(24)))
  return {
    name: "parley",
    args: [...serviceFlags, ...profiling, entry],
    environment: {
      ...serviceEnvironment,
      PARLEY_DATA_DIR: mkdtempSync(join(directory, "data-")),
      PARLEY_INIT_API_KEY: key,
      PARLEY_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      // One user makes the whole load.
      PARLEY_USER_REQUESTS_MAX: "100000",
      PARLEY_USER_REQUESTS_PER_MINUTE: "10000000",
      OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
      OPENAI_API_KEY: "bench",
      OPENAI_MODEL: "bench-model-1"
    },
    coldEnvironment: (runningPid) => ({
      PARLEY_DATA_DIR: mkdtempSync(join(directory, "cold-")),
      DATABASE_URL: databaseUrl(runningPid),
      // Nothing is uploaded, so that it does not matter that it is not the directory of the other process.
      PARLEY_FILES_DIRECTORY_SHARED: "true"
    }),
    key
  }
}

const socketsSetting = "unix_socket_directories="

/** The embedded database of a running service, as a URL: it tells PostgreSQL on its command line where its socket is. */
const databaseUrl = (pid: number): string => {
  const words = descendants(pid).flatMap((mark) => commandWords(mark.pid))
  const directory = words.find((word) => word.startsWith(socketsSetting))?.slice(socketsSetting.length)
  if (directory === undefined) throw new Error("the service has no embedded database")
  return `postgres://parley@localhost/postgres?host=${encodeURIComponent(directory)}`
}
