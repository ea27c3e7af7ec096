import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/*
 * What the bundle of the service changes in sources as it reads them. None of it changes what they do; docs/decisions/bundle-rewrites.md and
 * docs/decisions/effect-run-loop.md say what it is worth.
 */

/** The properties that Effect's run loop reads for every operation, by the constants that have their names. */
const loopProperties = ["args", "evaluate", "contA", "contE", "contAll", "currentFiberTypeId", "ExitTypeId"]
const asProperty = new RegExp(`\\[(${loopProperties.join("|")})\\]`, "g")
/** A name that is one of two. */
const eitherProperty = "op[symbol]"
/** Effect asks once whether V8 shows the name of a property that a function is called by. A function without a name, as esbuild leaves it, answers no. */
const probe = "function stackProbe() {"
const loopFiles = /[\\/]effect[\\/]dist[\\/](internal[\\/](core|effect)|http[\\/]HttpEffect)\.js$/

const constantsOf = (text) => {
  const values = new Map()
  for (const [, name, value] of text.matchAll(/^export const (\w+) = [`"](.+)[`"];$/gm)) {
    values.set(
      name,
      value.replace(/\$\{(\w+)\}/g, (_whole, other) => values.get(other))
    )
  }
  return values
}

/**
 * Writes the names of these properties out, where Effect has them in constants: V8 takes several times as long for a name that it
 * reads from a variable, where objects have many shapes.
 */
const namingProperties = (modules) => {
  const read = (file) => readFileSync(join(modules, "effect/dist", file), "utf8")
  const values = new Map([...constantsOf(read("Redactable.js")), ...constantsOf(read("internal/core.js"))])
  const nameOf = (constant) => {
    const name = values.get(constant)
    if (name === undefined) throw new Error(`Effect has no constant ${constant} any more.`)
    return `["${name}"]`
  }
  return (path, text) => {
    if (!loopFiles.test(path)) return text
    for (const part of basename(path) === "effect.js" ? [eitherProperty, probe] : [])
      if (!text.includes(part)) throw new Error(`Effect's run loop has no ${part} any more.`)
    return text
      .replace(probe, `${probe} if (stackProbe === undefined) return;`)
      .replace(eitherProperty, "(symbol === contA ? op[contA] : op[contE])")
      .replace(asProperty, (_whole, constant) => nameOf(constant))
  }
}

const groupImport =
  /^import \{([^}]*)\} from "((?:effect|@effect\/(?:platform-node|sql-pg))(?:\/[a-z-]+)?)"$/gm

/** The modules of a package that its index exports whole, each under its own name. */
const modulesOf = (packages) => {
  const known = new Map()
  return (specifier) => {
    const [scopeOrName, second, ...rest] = specifier.split("/")
    const [name, path] = scopeOrName.startsWith("@")
      ? [`${scopeOrName}/${second}`, rest]
      : [scopeOrName, specifier.includes("/") ? [second] : []]
    if (!known.has(specifier)) {
      const text = readFileSync(join(packages, name, "dist", ...path, "index.js"), "utf8")
      const found = text.matchAll(/^export \* as (\w+) from "\.\/\1\.js";$/gm)
      known.set(specifier, new Set(Array.from(found, ([, module]) => module)))
    }
    return known.get(specifier)
  }
}

/**
 * Imports Effect's modules one by one, where the sources import them together. Of modules that come through an index esbuild makes objects
 * with a getter for each export, which every use then asks, and which need all of the exports.
 */
const importingModules = (packages) => {
  const modulesIn = modulesOf(packages)
  return (text) =>
    text.replace(groupImport, (whole, list, specifier) => {
      const modules = modulesIn(specifier)
      const others = []
      const statements = []
      for (const item of list.split(",").map((one) => one.trim())) {
        const [name, alias = name] = item.split(" as ")
        if (modules.has(name)) statements.push(`import * as ${alias} from "${specifier}/${name}"`)
        else if (item !== "") others.push(item)
      }
      if (others.length > 0) statements.push(`import { ${others.join(", ")} } from "${specifier}"`)
      // As many lines as before, for the source map.
      return statements.join(";") + whole.replace(/[^\n]/g, "")
    })
}

/** All that the service uses of undici: its index loads `fetch`, caches and mocks as well. */
const undici = `
Object.assign(require("./lib/dispatcher/dispatcher").prototype, require("./lib/api"))
exports.Agent = require("./lib/dispatcher/agent")
exports.Client = require("./lib/dispatcher/client")
exports.buildConnector = require("./lib/core/connect")
`

/**
 * The local names of libraries become short, which makes the code that a start reads smaller. Those of the service's own sources stay, for the sake of
 * stack traces.
 */
const shortening = async (esbuild, path, text) => {
  const options = { minifyIdentifiers: true, sourcefile: path, sourcemap: "inline", loader: "js" }
  return (await esbuild.transform(text, options)).code
}

export const rewrites = (esbuild, root) => ({
  name: "rewrites",
  setup: ({ onLoad }) => {
    const packages = join(root, "node_modules")
    const nameProperties = namingProperties(packages)
    const importModules = importingModules(packages)
    onLoad({ filter: /[\\/](src|migrations)[\\/].*\.ts$/ }, ({ path }) =>
      path.startsWith(packages) ? null : { contents: importModules(readFileSync(path, "utf8")), loader: "ts" }
    )
    onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, ({ path }) => ({
      contents: undici,
      resolveDir: dirname(path)
    }))
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => ({
      contents: await shortening(esbuild, path, nameProperties(path, readFileSync(path, "utf8"))),
      resolveDir: dirname(path)
    }))
  }
})
