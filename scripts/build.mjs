import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { Trouble } from "./child.mjs"
import { ensureInstalled } from "./install.mjs"
import { withLock } from "./lock.mjs"
import { root } from "./node24.mjs"

const directory = join(root, "dist")
const stampPath = join(directory, ".stamp")

/** What the bundle is made of. */
const sources = ["src", "migrations", "package.json", "package-lock.json", "scripts/build.mjs"]

/** A service that still runs from an older build loads some of its parts late: they stay that long. */
const oldPartDaysMax = 7

const filesIn = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path)
        .toSorted()
        .flatMap((name) => filesIn(join(path, name)))
    : [path]

const stampOf = () => {
  const hash = createHash("sha256")
  for (const file of sources.flatMap((source) => filesIn(join(root, source)))) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0")
  }
  return hash.digest("hex")
}

const isCurrent = () => {
  try {
    return readFileSync(stampPath, "utf8") === stampOf()
  } catch {
    return false
  }
}

/** A process that starts meanwhile reads the old file or the new one, never half of one. */
const replace = (path, contents) => {
  const fresh = join(dirname(path), `.${basename(path)}.${process.pid}`)
  writeFileSync(fresh, contents)
  renameSync(fresh, path)
}

const removeOldParts = (current) => {
  const oldest = Date.now() - oldPartDaysMax * 86_400_000
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (!name.startsWith(".") && !current.has(path) && statSync(path).mtimeMs < oldest)
      rmSync(path, { recursive: true })
  }
}

const bundle = async () => {
  const esbuild = await import("esbuild")
  try {
    const { outputFiles } = await esbuild.build({
      absWorkingDir: root,
      entryPoints: {
        main: "src/main.ts",
        parley: "src/cli/main.ts",
        // The process that reads a document; src/documents finds it beside itself.
        extract: "src/documents/child.ts",
        // src/documents/Charset.ts reads it when it is needed.
        chardetng: "node_modules/chardetng-wasm/dist/chardetng_wasm_bg.wasm"
      },
      loader: { ".wasm": "copy" },
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
      write: false,
      // Bundled CommonJS packages ask for Node's own modules by `require`.
      banner: {
        js: 'import { createRequire as nodeCreateRequire } from "node:module"; const require = nodeCreateRequire(import.meta.url);'
      }
    })
    return outputFiles
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

const writeBuild = async () => {
  const stamp = stampOf()
  const files = await bundle()
  mkdirSync(directory, { recursive: true })
  // The entries last: what they import must be there already.
  const isPart = ({ path }) => basename(path).startsWith("part-")
  for (const { contents, path } of [...files.filter(isPart), ...files.filter((file) => !isPart(file))]) {
    replace(path, contents)
  }
  replace(stampPath, stamp)
  removeOldParts(new Set(files.map(({ path }) => path)))
}

/** Bundles the service and the command line into dist. */
export const build = async () => {
  await ensureInstalled()
  await withLock("build", writeBuild)
}

/** Builds if the sources have changed since the last build, or if there was none; installs what is missing. */
export const ensureBuilt = async ({ quiet = false } = {}) => {
  if (isCurrent()) return ensureInstalled({ dev: false })
  await ensureInstalled()
  await withLock("build", async () => {
    if (isCurrent()) return
    if (!quiet) process.stderr.write("Building…\n")
    await writeBuild()
  })
}
