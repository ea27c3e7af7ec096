import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { buildOnce, bundle } from "./support/ServiceProcess.ts"

/** Bytes of code that a start loads before anything else; 3.7 MB in November 2026. */
const bytesMax = 3_800_000

const directory = dirname(bundle)
const entry = "main.js"

/** The entry, and the parts that it imports at once, directly or by another part. */
const loadedAtOnce = (): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const add = (name: string) => {
    if (found.has(name)) return
    const code = readFileSync(join(directory, name), "utf8")
    found.set(name, code)
    // Not those of `import(…)`, which are loaded later.
    for (const [, part] of code.matchAll(/\b(?:from|import)"\.\/(part-[\w-]+\.js)"/g)) {
      if (part !== undefined) add(part)
    }
  }
  add(entry)
  return found
}

const sourcesOf = (name: string): ReadonlyArray<string> =>
  JSON.parse(readFileSync(join(directory, `${name}.map`), "utf8")).sources

beforeAll(() => buildOnce({ app: false }))

describe("the bundle of the service", () => {
  it("loads no library at the start that only some requests and backups need", () => {
    const sources = [...loadedAtOnce().keys()].flatMap(sourcesOf)
    assert.isTrue(sources.some((source) => source.includes("node_modules/effect/")))
    for (const late of ["age-encryption", "@noble", "gpt-tokenizer", "unpdf", "postal-mime", "undici"]) {
      assert.isFalse(
        sources.some((source) => source.includes(`node_modules/${late}/`)),
        late
      )
    }
  })

  it(`loads at most ${bytesMax / 1_000_000} MB of code at the start`, () => {
    const bytes = [...loadedAtOnce().values()].reduce((sum, code) => sum + Buffer.byteLength(code), 0)
    assert.isAtMost(bytes, bytesMax)
  })
})
