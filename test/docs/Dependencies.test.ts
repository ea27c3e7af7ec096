import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

/**
 * The names in the first column; one that begins with a dash has the scope and the name of the one before it
 * up to its first dash.
 */
const listed = (): ReadonlyArray<string> =>
  read("docs/decisions/dependencies.md")
    .split("\n")
    .flatMap((line) => {
      const names = /^\| (`[^|]+`) +\|/.exec(line)?.[1]?.match(/`[^`]+`/g) ?? []
      const [first = ""] = names
      const scope = /^`(@[^/]+\/)/.exec(first)?.[1] ?? ""
      return names.map((name) => name.slice(1, -1).replace(/^-/, scope))
    })

describe("docs/decisions/dependencies.md", () => {
  it("docs/decisions/dependencies.md has a row for each production dependency, and for nothing else", () => {
    const { dependencies, optionalDependencies } = JSON.parse(read("package.json"))
    assert.deepStrictEqual(
      listed().toSorted(),
      Object.keys({ ...dependencies, ...optionalDependencies }).toSorted()
    )
  })
})
