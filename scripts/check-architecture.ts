import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Exception, exceptions } from "./architecture/Exceptions.ts"
import { checkLengths } from "./architecture/Lengths.ts"
import { checkServiceKeys } from "./architecture/ServiceKeys.ts"
import { type Source, sourceOf, type Violation } from "./architecture/Source.ts"
import { checkSplinters } from "./architecture/Splinters.ts"
import { checkWords } from "./architecture/Words.ts"

/** The rules that oxlint.config.ts can't have; the arrows between rooms stand there. */

const directories = ["src", "migrations", "scripts", "test"]

export const checkSource = (source: Source): ReadonlyArray<Violation> => [
  ...checkWords(source),
  ...checkServiceKeys(source),
  ...checkLengths(source)
]

const covers = (exception: Exception, violation: Violation): boolean =>
  exception.path === violation.path && violation.message.includes(exception.about)

/** The violations without an exception, and the exceptions that covered none. */
export const applyExceptions = (
  violations: ReadonlyArray<Violation>,
  list: ReadonlyArray<Exception>
): ReadonlyArray<Violation> => [
  ...violations.filter((violation) => !list.some((exception) => covers(exception, violation))),
  ...list
    .filter((exception) => !violations.some((violation) => covers(exception, violation)))
    .map(({ about, path }) => ({
      path,
      line: 1,
      rule: "exception",
      message: `nothing needs the exception "${about}"`
    }))
]

/** Every violation in the project in this directory. */
export const checkProject = (root: string): ReadonlyArray<Violation> => {
  const files = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name) && !name.includes("node_modules/"))
      .map((name) => `${directory}/${name}`)
  )
  const sources = files.toSorted().map((path) => sourceOf(path, readFileSync(join(root, path), "utf8")))
  return applyExceptions([...sources.flatMap(checkSource), ...checkSplinters(sources)], exceptions)
}

export const violationText = ({ line, message, path, rule }: Violation): string =>
  `${path}:${line} ${rule}: ${message}`

const self = fileURLToPath(import.meta.url)

if (process.argv[1] === self) {
  const violations = checkProject(dirname(dirname(self)))
  for (const violation of violations) console.error(violationText(violation))
  console.log(violations.length === 0 ? "The architecture holds." : `${violations.length} violations.`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
