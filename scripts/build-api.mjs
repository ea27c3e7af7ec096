import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { succeeded, Trouble } from "./child.mjs"
import { root, runNode } from "./node24.mjs"
import { isStamped, replace, stampOf, writeStamp } from "./output.mjs"

const directory = join(root, "dist", "api")

/** What the typed client is made of. */
const sources = ["src/sdk", "src/api", "src/domain", "package-lock.json", "scripts/build-api.mjs"]

const script = async () => {
  const esbuild = await import("esbuild")
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { ParleyClient: "src/sdk/ParleyClient.ts" },
    outdir: directory,
    bundle: true,
    // The program's own Effect, so that there is one.
    packages: "external",
    format: "esm",
    platform: "neutral",
    target: "es2024",
    legalComments: "none",
    write: false
  })
  return outputFiles
}

/** Builds `parley/api`, the typed client for other programs: one script, and the declarations of its types. */
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
