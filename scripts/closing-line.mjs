import { readFileSync, writeFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"

/** The variable that names the file for the counts, where the closing line is printed by another process. */
export const countsVariable = "TEST_COUNTS_FILE"

/** The end of every test run: what failed, if anything did, and the line with the counts. */
export const closing = ({ failed, failures, passed }) =>
  [...failures, `Tests: ${passed} passed, ${failed} failed`].join("\n")

/** Reads the counts of the reporter; nothing passed and nothing failed when the run didn't get that far. */
export const readCounts = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return { passed: 0, failed: 0, failures: [] }
  }
}

const failureLinesMax = 12

/**
 * One failure and its reason, for the end of a long run: `Failed: ` and the place, below it the start of the
 * error.
 */
const failure = (place, error) => {
  const text = stripVTControlCharacters(String(error?.stack ?? error?.message ?? error))
  const lines = text.split("\n").slice(0, failureLinesMax)
  return [`Failed: ${place}`, ...lines.map((line) => `  ${line}`)].join("\n")
}

/**
 * A file that could not be loaded, a hook that failed and an error outside of any test count as failed tests.
 */
const countsOf = (modules, unhandledErrors) => {
  const counts = { passed: 0, failed: 0, failures: [] }
  const fail = (place, error) => {
    counts.failed += 1
    counts.failures.push(failure(place, error))
  }
  for (const error of unhandledErrors) fail("outside of any test", error)
  for (const module of modules) {
    for (const error of module.errors()) fail(module.moduleId, error)
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) fail(`${module.moduleId} > ${suite.fullName}`, error)
    }
    for (const test of module.children.allTests()) {
      const { state, errors = [] } = test.result()
      if (state === "passed") counts.passed += 1
      if (state === "failed") fail(`${module.moduleId} > ${test.fullName}`, errors[0] ?? "no reason")
    }
  }
  return counts
}

/** A reporter for vitest that knows how the run ended. */
export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = countsOf(modules, unhandledErrors)
    const path = process.env[countsVariable]
    if (path === undefined) process.stdout.write(`\n${closing(counts)}\n`)
    else writeFileSync(path, JSON.stringify(counts))
  }
}
