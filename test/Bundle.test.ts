import { existsSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { buildOnce, bundle, serviceFlags } from "./support/ServiceProcess.ts"

/** Bytes of code that a start loads before anything else; 3.6 MB in November 2026, with three interfaces. */
const bytesMax = 3_700_000

const directory = dirname(bundle)
const root = fileURLToPath(new URL("../", import.meta.url))

interface SourceMap {
  readonly sources: ReadonlyArray<string>
  readonly sourcesContent: ReadonlyArray<string>
}

const textOf = (name: string): string => readFileSync(join(directory, name), "utf8")

/** A file of the bundler's own functions has no map. */
const mapOf = (name: string): SourceMap =>
  existsSync(join(directory, `${name}.map`))
    ? JSON.parse(textOf(`${name}.map`))
    : { sources: [], sourcesContent: [] }

/** The files that a program loads before it begins: its own and those that they import at once. */
const loadedAtOnce = (entry: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  const add = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    const imports = textOf(name).matchAll(
      /^(?:import|export)\b[^;]*?\bfrom "\.\/([^"]+)";?$|^import "\.\/([^"]+)";?$/gm
    )
    for (const [, named, bare] of imports) add(named ?? bare ?? "")
  }
  add(entry)
  return [...found]
}

/**
 * All files of this build, also those that are loaded late. The directory may hold parts of earlier builds.
 */
const builtFiles = (): ReadonlyArray<string> => {
  const found = new Set<string>()
  const add = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const [, part = ""] of textOf(name).matchAll(/["']\.\/(part-[\w.-]+\.js)["']/g)) add(part)
  }
  for (const program of ["main.js", "parley.js", "extract.js", "schemas.js"]) add(program)
  return [...found]
}

beforeAll(() => buildOnce({ app: false }))

describe("the bundle of the service", () => {
  it("the bundle loads no library at the start that only some requests and backups need", () => {
    const sources = loadedAtOnce("main.js").flatMap((name) => mapOf(name).sources)
    for (const early of ["node_modules/effect/", "src/App.ts"]) {
      assert.isTrue(
        sources.some((source) => source.includes(early)),
        early
      )
    }
    for (const late of ["age-encryption", "@noble", "gpt-tokenizer", "unpdf", "postal-mime", "undici"]) {
      assert.isFalse(
        sources.some((source) => source.includes(`node_modules/${late}/`)),
        late
      )
    }
  })

  it("the bundle is made of the sources and the libraries as they are, and of nothing else", () => {
    let compared = 0
    for (const name of builtFiles()) {
      const { sources, sourcesContent } = mapOf(name)
      for (const [index, source] of sources.entries()) {
        const path = resolve(directory, source)
        // The bundler makes modules of JSON by itself, and brings functions of its own for CommonJS.
        if (source.endsWith(".json") || source.includes("rolldown/runtime")) continue
        assert.isTrue(existsSync(path), source)
        assert.strictEqual(sourcesContent[index], readFileSync(path, "utf8"), source)
        compared++
      }
    }
    assert.isAbove(compared, 1_000)
  })

  it("the bundle uses the modules of Effect without objects of their exports", () => {
    const code = loadedAtOnce("main.js").map(textOf).join("\n")
    assert.deepStrictEqual(code.match(/\b[A-Z]\w*_exports\.\w+\(/g), null)
  })

  it(`the bundle loads at most ${bytesMax / 1_000_000} MB of code at the start`, () => {
    const bytes = loadedAtOnce("main.js").map((name) => Buffer.byteLength(textOf(name)))
    assert.isAtMost(
      bytes.reduce((sum, one) => sum + one, 0),
      bytesMax
    )
  })

  it("the bundle is started with the same flags of Node by the image and by the unit of systemd", () => {
    assert.isAbove(serviceFlags.length, 0)
    for (const [file, flags] of [
      ["deploy/Dockerfile", serviceFlags.map((flag) => `"${flag}"`).join(", ")],
      ["deploy/systemd/parley.service", serviceFlags.join(" ")]
    ] as const) {
      assert.include(readFileSync(join(root, file), "utf8"), flags, file)
    }
  })
})
