import { mkdirSync } from "node:fs"
import { basename, join } from "node:path"
import { buildId } from "./build-id.mjs"
import { bundleService } from "./bundle-service.mjs"
import { Trouble } from "./child.mjs"
import { root } from "./node24.mjs"
import { isStamped, removeOldParts, replace, stampOf, writeStamp } from "./output.mjs"

const directory = join(root, "dist")

/** What the bundle is made of. */
const sources = [
  "src",
  "migrations",
  "package.json",
  "package-lock.json",
  "scripts/build-service.mjs",
  "scripts/bundle-service.mjs",
  "scripts/bundle-rewrites.mjs",
  "scripts/service-loader.mjs",
  "scripts/build-id.mjs"
]
/** The browser's part is built beside it. */
const browserSources = ["src/console/app/"]

const currentStamp = () => stampOf(sources, browserSources)

const options = () => ({
  absWorkingDir: root,
  // src/settings/Build.ts shows it.
  define: { parleyBuild: JSON.stringify(buildId()) },
  // Nothing uses it, but a late import is always made a part.
  external: ["*/httpApiSwagger.js"],
  outdir: directory,
  bundle: true,
  // What is imported late, such as the tokenizer's table, stays a part of its own.
  splitting: true,
  chunkNames: "part-[name]-[hash]",
  format: "esm",
  platform: "node",
  target: "node22",
  sourcemap: true,
  // Identifiers keep their names for the sake of stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: "none",
  logLevel: "silent",
  write: false
})

/** Bundled CommonJS packages ask for Node's own modules by `require`, which a module doesn't have. */
const banner = {
  js: 'import { createRequire as nodeCreateRequire } from "node:module"; const require = nodeCreateRequire(import.meta.url);'
}

/** The programs beside the service, which are modules. */
const programs = {
  parley: "src/cli/main.ts",
  // The process that reads a document; src/documents finds it beside itself.
  extract: "src/documents/child.ts",
  // The process that has the schemas of clients; src/responses/JsonSchemas.ts finds it beside itself.
  schemas: "src/responses/schemas/child.ts",
  // src/documents/Charset.ts reads it when it is needed.
  chardetng: "node_modules/chardetng-wasm/dist/chardetng_wasm_bg.wasm"
}

const bundle = async () => {
  const esbuild = await import("esbuild")
  try {
    const [service, { outputFiles }] = await Promise.all([
      bundleService(esbuild, options()),
      esbuild.build({ ...options(), banner, entryPoints: programs, loader: { ".wasm": "copy" } })
    ])
    return [...outputFiles, ...service]
  } catch (error) {
    const lines = await esbuild.formatMessages(error.errors ?? [], {
      kind: "error",
      color: process.stderr.isTTY
    })
    throw new Trouble(lines.length > 0 ? `The build failed.\n\n${lines.join("\n")}` : String(error))
  } finally {
    await esbuild.stop()
  }
}

export const isServiceBuilt = () => isStamped(directory, currentStamp())

/** Bundles the service and the command line into dist. */
export const buildService = async () => {
  const stamp = currentStamp()
  const files = await bundle()
  mkdirSync(directory, { recursive: true })
  // The entries last: what they import must be there already.
  const isPart = ({ path }) => basename(path).startsWith("part-")
  for (const { contents, path } of [...files.filter(isPart), ...files.filter((file) => !isPart(file))]) {
    replace(path, contents)
  }
  writeStamp(directory, stamp)
  removeOldParts(
    directory,
    new Set([join(directory, "app"), join(directory, "api"), ...files.map(({ path }) => path)])
  )
}
