import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { buildOnce, bundle } from "../support/ServiceProcess.ts"

/** Compressed JavaScript that a browser loads before it shows its first page. */
const firstViewBytesMax = 180_000

interface Chunk {
  readonly file: string
  readonly imports?: ReadonlyArray<string>
  readonly css?: ReadonlyArray<string>
}

const directory = join(dirname(bundle), "app")
const read = (name: string) => readFileSync(join(directory, name))

/** The entry and the page, with all that they import at once. */
const filesOf = (...entries: ReadonlyArray<string>): ReadonlySet<string> => {
  const chunks: Readonly<Record<string, Chunk>> = JSON.parse(read(".vite/manifest.json").toString())
  const found = new Set<string>()
  const add = (name: string) => {
    const chunk = chunks[name]
    if (chunk === undefined) assert.fail(`The build has no ${name}.`)
    if (found.has(chunk.file)) return
    found.add(chunk.file)
    for (const one of chunk.imports ?? []) add(one)
  }
  for (const entry of entries) add(entry)
  return found
}

beforeAll(() => buildOnce({ app: true }))

describe("the build of the web application", () => {
  for (const page of ["entry/SignInPage", "entry/LinkPage", "home/HomePage"]) {
    it(`the build loads at most ${firstViewBytesMax / 1_000} kB of compressed JavaScript to show ${page}`, () => {
      const files = filesOf("index.html", `pages/${page}.tsx`)
      const bytes = [...files].map((file) => read(`${file}.br`).length).reduce((sum, one) => sum + one, 0)
      assert.isAbove(files.size, 1)
      assert.isAtMost(bytes, firstViewBytesMax)
    })
  }

  it("the build has each file compressed beside it, with the same content", () => {
    const names = readdirSync(join(directory, "assets")).filter((name) => !/\.(br|gz)$/.test(name))
    assert.isAbove(names.length, 10)
    for (const name of names) {
      const content = read(`assets/${name}`)
      assert.isTrue(brotliDecompressSync(read(`assets/${name}.br`)).equals(content), name)
      assert.isTrue(gunzipSync(read(`assets/${name}.gz`)).equals(content), name)
    }
  })

  it("the build has a page without inline scripts and styles, and with relative addresses only", () => {
    const page = read("index.html").toString()
    assert.notMatch(page, /<style|\sstyle=|\son\w+=/)
    for (const [, attributes, content] of page.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)) {
      assert.match(attributes ?? "", /src="\.\/assets\//)
      assert.strictEqual(content, "")
    }
    const addresses = [...page.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, address]) => address)
    assert.deepStrictEqual(
      addresses.filter((address) => address !== "/" && !address?.startsWith("./assets/")),
      []
    )
  })
})
