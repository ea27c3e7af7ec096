import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, it } from "@effect/vitest"
import { bundle } from "../support/ServiceProcess.ts"

/**
 * Size of all code that is loaded before a document is read. The readers of binary formats are loaded on
 * demand.
 */
const codeBytesMax = 150_000

const partsOf = (file: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(file)) return seen
  seen.add(file)
  const code = readFileSync(file, "utf8")
  for (const [, name = ""] of code.matchAll(/^import\s*(?:\{[^}]*\}\s*from\s*)?"\.\/([^"]+)"/gm)) {
    partsOf(join(dirname(file), name), seen)
  }
  return seen
}

it("the reader process loads little code, and no Effect, before it reads a document", () => {
  const parts = [...partsOf(join(dirname(bundle), "extract.js"))]
  const bytes = parts.reduce((sum, part) => sum + readFileSync(part).length, 0)
  assert.isAbove(parts.length, 2)
  assert.isBelow(bytes, codeBytesMax, parts.join("\n"))
})
