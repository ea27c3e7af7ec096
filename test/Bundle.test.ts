import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { buildOnce, bundle } from "./support/ServiceProcess.ts"

/** Bytes of code that a start loads before anything else; 2.5 MB in November 2026. */
const bytesMax = 2_650_000

/** The script that the entry loads at once; what it imports late stands in parts of their own. */
const service = (): string => {
  const name = /part-service-[0-9a-f]{16}\.js/.exec(readFileSync(bundle, "utf8"))?.[0]
  if (name === undefined) throw new Error("The entry of the bundle loads no script.")
  return join(dirname(bundle), name)
}

beforeAll(() => buildOnce({ app: false }))

describe("the bundle of the service", () => {
  it("loads no library at the start that only some requests and backups need", () => {
    const sources: ReadonlyArray<string> = JSON.parse(readFileSync(`${service()}.map`, "utf8")).sources
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

  it("is source of one byte per character", () => {
    assert.isTrue(readFileSync(service()).every((byte) => byte < 0x80))
  })

  it("reads the properties of Effect's run loop by their names", () => {
    const text = readFileSync(service(), "utf8")
    // The run loop itself, and what it asks each continuation.
    assert.match(text, /runLoop\(\w+\)\{let \w+=globalThis\["~effect\/Fiber\/currentFiber"\]/)
    assert.match(text, /:\w+\["~effect\/Effect\/evaluate"\]\(this\)/)
    assert.match(text, /\w+\["~effect\/Effect\/successCont"\]\(/)
    // What asks whether V8 shows the name of a property has a name, or it would answer no.
    assert.match(text, /~effect\/Effect\/stackProbe",\w+=\{\[\w+\]:function \w+\(/)
  })

  it("uses the modules of Effect without objects of their exports", () => {
    assert.deepStrictEqual(readFileSync(service(), "utf8").match(/\b[A-Z]\w*_exports\d*\.\w+/g), null)
  })

  it("has everything of undici that the sources use", () => {
    const root = new URL("../", import.meta.url)
    const rewrites = readFileSync(new URL("scripts/bundle-rewrites.mjs", root), "utf8")
    const bundled = Array.from(rewrites.matchAll(/^exports\.(\w+) = /gm), ([, name]) => name)
    const files = readdirSync(new URL("src/", root), { encoding: "utf8", recursive: true })
    const texts = files
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(new URL(`src/${name}`, root), "utf8"))
      .filter((text) => text.includes("@effect/platform-node/Undici"))
    const used = texts.flatMap((text) =>
      Array.from(text.matchAll(/\bundici\.(\w+)|\(loadUndici, \(\{ (\w+) \}\)/g), ([, a, b]) => a ?? b)
    )
    assert.sameMembers([...new Set(used)], bundled)
  })

  it(`loads at most ${bytesMax / 1_000_000} MB of code at the start`, () => {
    assert.isAtMost(readFileSync(service()).length, bytesMax)
  })
})
