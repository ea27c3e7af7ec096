import { existsSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type Page, pageOf, pages, place, root } from "./Documents.ts"

const isExternal = (target: string): boolean => /^[a-z][a-z+.-]*:/i.test(target)

/** The problem of a link, or null. Sends no request to another host. */
const fault = (page: Page, target: string, all: ReadonlyArray<Page>): string | null => {
  if (isExternal(target)) return /^(https:\/\/[\w.-]+\.[a-z]+|mailto:)/.test(target) ? null : "use https"
  const [file = "", anchor] = target.split("#")
  const path = file === "" ? page.path : posix.join(posix.dirname(page.path), file)
  if (!existsSync(join(root, path))) return `there is no file ${path}`
  if (anchor === undefined) return null
  const other = all.find((one) => one.path === path)
  if (other === undefined) return `${path} is no page, and has no anchors`
  const known = [...other.anchors].map((one) => `#${one}`).join(" ")
  return other.anchors.has(anchor) ? null : `${path} has no heading #${anchor}; it has ${known}`
}

const faults = (all: ReadonlyArray<Page>): ReadonlyArray<string> =>
  all.flatMap((page) =>
    page.links.flatMap((link) => {
      const found = fault(page, link.text, all)
      return found === null ? [] : [`${place(page, link)}: the link ${link.text} leads nowhere: ${found}`]
    })
  )

/** The pages that can be reached from this one. */
const reachable = (from: string, all: ReadonlyArray<Page>): ReadonlySet<string> => {
  const found = new Set([from])
  for (const path of found) {
    const page = all.find((one) => one.path === path)
    for (const { text } of page?.links ?? [])
      if (!isExternal(text)) found.add(posix.join(dirname(path), text.split("#")[0] ?? ""))
  }
  return found
}

describe("the documentation", () => {
  it("the documentation has no link within the project that leads nowhere", () => {
    assert.deepStrictEqual(faults(pages()), [])
  })

  it("the documentation has no page in docs that can't be reached from README.md", () => {
    const all = pages()
    const found = reachable("README.md", all)
    const lost = all.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !found.has(path))
    assert.deepStrictEqual(
      lost.map(
        (path) => `${path}: link to it from a page that README.md leads to, such as docs/administration.md`
      ),
      []
    )
  })

  it("the check of links names a missing file, a missing heading and an address without https", () => {
    const other = pageOf("docs/files.md", "# The `files`\n\n## The files\n\n## The files\n")
    assert.deepStrictEqual([...other.anchors], ["the-files", "the-files-1", "the-files-2"])
    const page = pageOf(
      "docs/limits.md",
      "# A\n\n[a](gone.md) [b](files.md#nothing) [c](#a) [d](files.md#the-files-1) [e](../LICENSE)\n\n![f](images/gone.png) [g](http://example.com)"
    )
    assert.deepStrictEqual(
      faults([page, other]).map((one) => one.replace(/; it has .*/, "")),
      [
        "docs/limits.md:3: the link gone.md leads nowhere: there is no file docs/gone.md",
        "docs/limits.md:3: the link files.md#nothing leads nowhere: docs/files.md has no heading #nothing",
        "docs/limits.md:5: the link images/gone.png leads nowhere: there is no file docs/images/gone.png",
        "docs/limits.md:5: the link http://example.com leads nowhere: use https"
      ]
    )
  })
})
