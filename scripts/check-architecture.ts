import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Exception, exceptions } from "./architecture/Exceptions.ts"
import { checkLengths } from "./architecture/Lengths.ts"
import { checkRooms } from "./architecture/Rooms.ts"
import { type Source, sourceOf, type Violation } from "./architecture/Source.ts"
import { checkStyle } from "./architecture/Words.ts"

const directories = ["src", "migrations", "scripts", "test"]

/** Checks one file. `dependencies` are the packages that src may import. */
export const checkSource = (
  source: Source,
  dependencies: ReadonlyArray<string>
): ReadonlyArray<Violation> => [
  ...checkRooms(source, dependencies),
  ...checkStyle(source),
  ...checkLengths(source)
]

const covers = (exception: Exception, violation: Violation): boolean =>
  exception.path === violation.path &&
  exception.rule === violation.rule &&
  violation.message.includes(exception.about)

/** What remains of the violations, and the exceptions that covered none. */
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

const PackageJson = Schema.fromJsonString(
  Schema.Struct({ dependencies: Schema.Record(Schema.String, Schema.String) })
)

/** Every violation in the project whose directory this is. */
export const checkProject = (root: string): ReadonlyArray<Violation> => {
  const read = (path: string) => readFileSync(join(root, path), "utf8")
  const dependencies = Object.keys(Schema.decodeSync(PackageJson)(read("package.json")).dependencies)
  const files = directories.flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${directory}/${name}`)
  )
  const violations = files.toSorted().flatMap((path) => checkSource(sourceOf(path, read(path)), dependencies))
  return applyExceptions(violations, exceptions)
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
