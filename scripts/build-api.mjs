import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { succeeded, Trouble } from "./child.mjs"
import { root, runNode } from "./node24.mjs"
import { isStamped, replace, stampOf, writeStamp } from "./output.mjs"

const directory = join(root, "dist", "api")

/** The sources of the typed client. */
const sources = ["src/sdk", "src/api", "src/domain", "package-lock.json", "scripts/build-api.mjs"]

const script = async () => {
  const { rolldown } = await import("rolldown")
  const build = await rolldown({
    cwd: root,
    input: { ParleyClient: "src/sdk/ParleyClient.ts" },
    // The program's own Effect, so that there is one.
    external: /^[^./]/,
    platform: "neutral",
    transform: { target: "es2024" }
  })
  const { output } = await build.generate({ dir: directory, format: "esm", comments: false })
  await build.close()
  return output.map(({ code, fileName }) => ({ path: join(directory, fileName), contents: code }))
}

/**
 * Builds `parley/api`, the typed client for other programs: one script, and the declarations of its types.
 */
export const buildApi = async () => {
  const stamp = stampOf(sources)
  if (isStamped(directory, stamp)) return
  const files = await script()
  mkdirSync(directory, { recursive: true })
  for (const { contents, path } of files) replace(path, contents)
  const tsc = ["node_modules/typescript/bin/tsc", "-p", "src/sdk/tsconfig.json"]
  if (!succeeded(await runNode(tsc, { cwd: root })))
    throw new Trouble("The types of parley/api were not built.")
  writeStamp(directory, stamp)
}
