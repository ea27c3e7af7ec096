import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { AxeResults } from "axe-core"
import type { Page } from "playwright-core"

/** WCAG 2.2, levels A and AA. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** The problems that axe finds on the page in its present state, one line for each element. */
export const accessibilityProblems = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Not as a script element, which the page's policy refuses.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(await axeSource)
  const options = JSON.stringify({ runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] })
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`)
  return violations.flatMap(({ help, id, nodes }) =>
    nodes.map(({ failureSummary, html, target }) =>
      [`${id}: ${help}`, target.join(" "), html, failureSummary].join("\n  ")
    )
  )
}

export const assertAccessible = async (page: Page): Promise<void> => {
  const problems = await accessibilityProblems(page)
  assert.isEmpty(problems, `\n${problems.join("\n")}`)
}

/** In CSS pixels; 0 if the page is no wider than the window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth")

/** The page can be read without scrolling sideways. */
export const assertFits = async (page: Page): Promise<void> => {
  assert.strictEqual(await overflowOf(page), 0, `pixels that ${page.url()} is wider than the window`)
}

/** Saves the page as PNG in the directory that PARLEY_TEST_SCREENSHOTS names; without it does nothing. */
export const saveScreenshot = async (page: Page, name: string): Promise<void> => {
  const directory = process.env["PARLEY_TEST_SCREENSHOTS"]
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`) })
}
