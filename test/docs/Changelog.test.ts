import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import manifest from "../../package.json" with { type: "json" }
import { root } from "./Documents.ts"

const read = (path: string): string => readFileSync(join(root, path), "utf8")

const operatorSection = "What an operator must do"

/** The sections of Keep a Changelog in its order, after the one that is our own. */
const sections = [operatorSection, "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]

/** The releases of the changelog, newest first, with the titles of their sections. */
const releases = read("CHANGELOG.md")
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const [title = "", ...rest] = text.split("\n")
    const titles = rest.filter((line) => line.startsWith("### ")).map((line) => line.slice(4))
    return { title, titles }
  })

const released = releases.slice(1)

/** Such as [0, 2, 0], of "0.2.0 - 2026-11-23". */
const numbers = (title: string): ReadonlyArray<number> => (title.split(" ")[0] ?? "").split(".").map(Number)

const isNewer = (a: string, b: string): boolean => {
  const [left, right] = [numbers(a), numbers(b)]
  const at = left.findIndex((number, index) => number !== right[index])
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0)
}

describe("the changelog", () => {
  it("the changelog begins with what is unreleased, and has the releases in descending order, each with its day", () => {
    assert.strictEqual(releases[0]?.title, "Unreleased")
    for (const [index, { title }] of released.entries()) {
      assert.match(title, /^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/)
      const older = released[index + 1]
      if (older !== undefined)
        assert.isTrue(isNewer(title, older.title), `${title} is not newer than ${older.title}`)
    }
  })

  it("the changelog says of each release what an operator must do, and groups the rest by kind", () => {
    for (const { title, titles } of releases) {
      assert.deepStrictEqual(
        titles.toSorted((a, b) => sections.indexOf(a) - sections.indexOf(b)),
        titles,
        title
      )
      for (const one of titles) assert.include(sections, one, title)
      assert.strictEqual(new Set(titles).size, titles.length, `${title} has a section twice`)
    }
    for (const { title, titles } of released) assert.include(titles, operatorSection, title)
  })

  it("the changelog is about the version of package.json, which the documentation and the manifests name", () => {
    const { version } = manifest
    assert.strictEqual(released[0]?.title.split(" ")[0], version)
    assert.include(read("README.md"), `Version ${version.split(".").slice(0, 2).join(".")}.`)
    assert.include(read("deploy/kubernetes/kustomization.yaml"), `newTag: ${version}\n`)
    assert.include(read("docs/deployment.md"), `/opt/parley-${version}\n`)
  })
})
