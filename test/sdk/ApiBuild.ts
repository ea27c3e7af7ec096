import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"

/** The project's directory. */
export const projectRoot = fileURLToPath(new URL("../..", import.meta.url))

const script = new URL("../../scripts/build-api.mjs", import.meta.url).href

/** Builds what the package exports as `parley/api`, unless that is done. */
export const builtApi: Effect.Effect<void> = Effect.promise(async () => {
  const build = `import { buildApi } from ${JSON.stringify(script)}; await buildApi()`
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", build])
})
