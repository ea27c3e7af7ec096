import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { rewrites } from "./bundle-rewrites.mjs"

const loaderFile = new URL("service-loader.mjs", import.meta.url)
const sources = [new URL(import.meta.url), new URL("bundle-rewrites.mjs", import.meta.url), loaderFile]

/** What is loaded at once: the entry and its imports, directly or by another part. */
const loadedAtOnce = ({ outputs }, entry) => {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]))
  const found = new Set()
  const add = (name) => {
    if (found.has(name)) return
    found.add(name)
    for (const { external, kind, path } of byName.get(name).imports) {
      if (kind === "import-statement" && !external) add(basename(path))
    }
  }
  add(entry)
  return [...found]
}

/** Resolves the parts that stand in `texts`, and leaves the others to the loader. */
const partsOf = (directory, texts) => ({
  name: "parts",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^\.\// }, ({ path }) =>
      texts.has(basename(path)) ? { path: join(directory, basename(path)) } : { path, external: true }
    )
    onLoad({ filter: /\.js$/ }, ({ path }) => ({ contents: texts.get(basename(path)) }))
  }
})

/** Only a script can be run with code that was compiled before. `scripts/service-loader.mjs` calls the function that it is. */
const script = {
  bundle: true,
  format: "cjs",
  // A late import becomes a call of the loader.
  supported: { "dynamic-import": false },
  banner: { js: "(function(module,require,bundleUrl){var exports=module.exports;" },
  footer: { js: "})" }
}

/** The service, and what parts that are loaded late have in common with it. */
const entryOf = (names) => {
  const shared = names.filter((name) => name !== "main.js")
  return `${shared.map((name, at) => `import * as part${at} from "./${name}"`).join("\n")}
import "./main.js"
export const shared = { ${shared.map((name, at) => `"./${name}": part${at}`).join(", ")} }`
}

const asEscape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * Writes the letters that esbuild leaves in regular expressions and templates as escapes, which mean the same there: source of one byte
 * per character is read faster (docs/decisions/cold-start.md). What follows on the same line moves away from its place in the source map.
 */
const inAscii = ({ contents, path, text }) => {
  if (!path.endsWith(".js")) return { path, contents }
  if (/\\[^\0-\x7f]/.test(text))
    throw new Error("A letter beyond ASCII follows a backslash: it can't be written as an escape.")
  return { path, contents: Buffer.from(text.replace(/[^\0-\x7f]/g, asEscape)) }
}

/** A name for what the script and its parts are made of. */
const keyOf = (esbuild, outputFiles) => {
  const hash = createHash("sha256").update(esbuild.version)
  for (const file of sources) hash.update(readFileSync(file))
  for (const { contents, path } of outputFiles) hash.update(`${basename(path)}\0`).update(contents)
  return hash.digest("hex").slice(0, 16)
}

/**
 * Bundles the service: `main.js` runs the script of everything that a start needs, and later the parts that are imported late.
 * esbuild makes parts of modules only, so that the modules are bundled once more.
 */
export const bundleService = async (esbuild, options) => {
  const directory = options.outdir
  const modules = await esbuild.build({
    ...options,
    define: { ...options.define, "import.meta.url": "bundleUrl", "import.meta.env": "undefined" },
    entryPoints: { main: "src/main.ts" },
    chunkNames: "part-service-[name]-[hash]",
    metafile: true,
    plugins: [rewrites(esbuild, options.absWorkingDir)],
    sourcemap: "inline"
  })
  const key = keyOf(esbuild, modules.outputFiles)
  const texts = new Map(modules.outputFiles.map(({ path, text }) => [basename(path), text]))
  const atOnce = loadedAtOnce(modules.metafile, "main.js")
  const scriptOf = (name, text, inside) =>
    esbuild.build({
      ...options,
      ...script,
      splitting: false,
      plugins: [partsOf(directory, new Map(inside.map((part) => [part, texts.get(part)])))],
      stdin: { contents: text, sourcefile: name, resolveDir: directory },
      outdir: undefined,
      outfile: join(directory, name)
    })
  const built = await Promise.all([
    scriptOf(`part-service-${key}.js`, entryOf(atOnce), atOnce),
    ...[...texts].filter(([name]) => !atOnce.includes(name)).map(([name, text]) => scriptOf(name, text, []))
  ])
  const loader = readFileSync(loaderFile, "utf8").replaceAll("__BUILD__", key)
  return [
    ...built.flatMap(({ outputFiles }) => outputFiles.map(inAscii)),
    { path: join(directory, "main.js"), contents: Buffer.from(loader) }
  ]
}
