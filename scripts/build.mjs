import { buildApi } from "./build-api.mjs"
import { buildApp, isAppBuilt } from "./build-app.mjs"
import { buildService, isServiceBuilt } from "./build-service.mjs"
import { ensureInstalled } from "./install.mjs"
import { withLock } from "./lock.mjs"

/** Builds the service with the command line, the web application and the typed client into dist. */
export const build = async () => {
  await ensureInstalled()
  await withLock("build", () => Promise.all([buildService(), buildApp(), buildApi()]))
}

/** The parts that are missing, or whose sources have changed since they were built. */
const partsToBuild = (withApp) => [
  ...(isServiceBuilt() ? [] : [buildService]),
  ...(!withApp || isAppBuilt() ? [] : [buildApp])
]

/**
 * Builds what has changed since the last build, or was never built; installs what is missing. The command
 * line needs no `app`.
 */
export const ensureBuilt = async ({ app = true, quiet = false } = {}) => {
  if (partsToBuild(app).length === 0) return ensureInstalled({ dev: false })
  await ensureInstalled()
  await withLock("build", async () => {
    const parts = partsToBuild(app)
    if (parts.length === 0) return
    if (!quiet)
      process.stderr.write("Building. This takes up to a minute, and is done once for each version.\n")
    await Promise.all(parts.map((part) => part()))
  })
}
