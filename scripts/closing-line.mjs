import { readFileSync, writeFileSync } from "node:fs"

/** The variable that names the file for the counts, where the closing line is printed by another process. */
export const countsVariable = "TEST_COUNTS_FILE"

/** The last line of every test run. */
export const closingLine = ({ failed, passed }) => `Tests: ${passed} passed, ${failed} failed`

/** What the reporter wrote; nothing passed and nothing failed when the run didn't get that far. */
export const readCounts = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return { passed: 0, failed: 0 }
  }
}

/** A file that could not be loaded, a hook that failed and an error outside of any test count as failed tests. */
const countsOf = (modules, unhandledErrors) => {
  const counts = { passed: 0, failed: unhandledErrors.length }
  for (const module of modules) {
    counts.failed += module.errors().length
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === "passed" || state === "failed") counts[state] += 1
    }
  }
  return counts
}

/** A reporter for vitest that knows how the run ended. */
export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = countsOf(modules, unhandledErrors)
    const path = process.env[countsVariable]
    if (path === undefined) process.stdout.write(`\n${closingLine(counts)}\n`)
    else writeFileSync(path, JSON.stringify(counts))
  }
}
