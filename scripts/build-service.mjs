import { mkdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { buildId } from "./build-id.mjs"
import { Trouble } from "./child.mjs"
import { root } from "./node24.mjs"
import { isStamped, removeOldParts, replace, stampOf, writeStamp } from "./output.mjs"

const directory = join(root, "dist")

/** The sources of the bundle. */
const sources = [
  "src",
  "migrations",
  "package.json",
  "package-lock.json",
  "scripts/build-service.mjs",
  "scripts/build-id.mjs"
]
/** The browser's part is built beside it. */
const browserSources = ["src/console/app/"]

const currentStamp = () => stampOf(sources, browserSources)

/** The service and the programs beside it, which find each other in one directory. */
const programs = {
  main: "src/main.ts",
  parley: "src/cli/main.ts",
  // The process that reads a document, which src/documents starts.
  extract: "src/documents/child.ts",
  // The process that has the schemas of clients, which src/schemas/JsonSchemas.ts starts.
  schemas: "src/schemas/child.ts"
}

/** src/documents/Charset.ts reads it when it is needed. */
const wasm = { name: "chardetng.wasm", path: "node_modules/chardetng-wasm/dist/chardetng_wasm_bg.wasm" }

/**
 * Joins the files of each program. Nothing else is changed in them, so that the tests, which run the sources,
 * run the same code.
 */
const options = () => ({
  input: {
    cwd: root,
    input: programs,
    platform: "node",
    logLevel: "warn",
    transform: {
      target: "node22",
      // src/settings/Build.ts shows it.
      define: { parleyBuild: JSON.stringify(buildId()) }
    }
  },
  output: {
    dir: directory,
    format: "esm",
    entryFileNames: "[name].js",
    // A module that is imported late, such as the tokenizer's table, stays a part of its own.
    chunkFileNames: "part-[name]-[hash].js",
    sourcemap: true,
    comments: false
  }
})

const bundle = async () => {
  const { rolldown } = await import("rolldown")
  const { input, output } = options()
  try {
    const build = await rolldown(input)
    const made = await build.generate(output)
    await build.close()
    return made.output.map((one) => ({
      path: join(directory, one.fileName),
      contents: one.type === "chunk" ? one.code : one.source
    }))
  } catch (error) {
    throw new Trouble(`The build failed.\n\n${error.message}`)
  }
}

export const isServiceBuilt = () => isStamped(directory, currentStamp())

/** Bundles the service and the command line into dist. */
export const buildService = async () => {
  const stamp = currentStamp()
  const files = [
    ...(await bundle()),
    { path: join(directory, wasm.name), contents: readFileSync(join(root, wasm.path)) }
  ]
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
