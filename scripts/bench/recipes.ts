import { randomBytes } from "node:crypto"
import { mkdtempSync } from "node:fs"
import { join, resolve } from "node:path"
import { Effect, Redacted } from "effect"
import { fromBytes, keyPrefix } from "../../src/auth/KeyToken.ts"
import { findEmbedded } from "../../src/postgres/EmbeddedPostgres.ts"
import { serviceEnvironment, serviceFlags } from "../node24.mjs"
import { program, type Rig } from "./rig.ts"
import { type Recipe, Server } from "./server.ts"

const graceSeconds = 2

/**
 * Parley as its launchers start it: the bundle, its embedded database, and the mock model server as its only
 * model. V8 writes a processor profile into the directory `profile`.
 */
export const parleyRecipe = ({ directory, entry, upstreamPort }: Rig, profile?: string): Recipe => {
  const profiling =
    profile === undefined
      ? []
      : ["--cpu-prof", "--cpu-prof-interval=500", `--cpu-prof-dir=${resolve(profile)}`]
  const dataDirectory = mkdtempSync(join(directory, "data-"))
  const key = Redacted.value(fromBytes(keyPrefix, randomBytes(24)))
  return {
    name: "parley",
    args: [...serviceFlags, ...profiling, entry],
    environment: {
      ...serviceEnvironment,
      PARLEY_DATA_DIR: dataDirectory,
      PARLEY_INIT_API_KEY: key,
      PARLEY_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      // One user makes the whole load.
      PARLEY_USER_REQUESTS_MAX: "100000",
      PARLEY_USER_REQUESTS_PER_MINUTE: "10000000",
      OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
      OPENAI_API_KEY: "bench",
      OPENAI_MODEL: "bench-model-1"
    },
    coldEnvironment: async () => {
      const { running } = await Effect.runPromise(findEmbedded(dataDirectory))
      if (running === null) throw new Error("the service has no embedded database")
      return onDatabase(running.host, mkdtempSync(join(directory, "cold-")))
    },
    key
  }
}

/** Environment of a process that uses the PostgreSQL whose Unix socket is there. */
export const onDatabase = (sockets: string, dataDirectory: string): Recipe["environment"] => ({
  PARLEY_DATA_DIR: dataDirectory,
  DATABASE_URL: `postgres://parley@localhost/postgres?host=${encodeURIComponent(sockets)}`,
  // Nothing is uploaded, so that it does not matter that each process has a directory of its own.
  PARLEY_FILES_DIRECTORY_SHARED: "true"
})

/** Parley, and the plain translators that it is compared with. */
export const startServers = async (rig: Rig, profile?: string) => {
  const start = (recipe: Recipe) => new Server(rig.fleet, recipe).start()
  const args = [program("raw.ts"), String(rig.upstreamPort)]
  const measured = await start(parleyRecipe(rig, profile))
  const raw = await start({ name: "raw", args, environment: {}, key: null })
  const fold = await start({ name: "raw-fold", args: [...args, "fold"], environment: {}, key: null })
  return { rig, measured, references: { raw, fold } }
}
