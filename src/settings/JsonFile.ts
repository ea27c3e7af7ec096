import { readFile } from "node:fs/promises"
import { Effect, Schema, SchemaIssue } from "effect"

/** The longest file that a setting may name, in bytes. */
const fileBytesMax = 1024 * 1024

/** Where in a file something is wrong, and what. */
export const FileProblem = Schema.Struct({ path: Schema.String, message: Schema.String })
export type FileProblem = typeof FileProblem.Type

/** A problem on one line. */
export const problemLine = ({ message, path }: FileProblem): string =>
  path === "" ? message : `${path}: ${message}`

const whole = (message: string): FileProblem => ({ path: "", message })

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** What a file of JSON that a setting names says, not yet checked. */
export const readJsonFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<unknown, FileProblem> {
  const bytes = yield* Effect.tryPromise({
    try: () => readFile(file),
    catch: () => whole("the file can't be read")
  })
  if (bytes.length > fileBytesMax) return yield* Effect.fail(whole("the file is too long"))
  return yield* Effect.mapError(decodeJson(bytes.toString("utf8")), () => whole("Expected a JSON document"))
})

/** The formatter's words that say too little about a file. */
const clearer: Readonly<Record<string, string>> = {
  "Missing key": "Missing: this field is required",
  "Expected no excess property": "There is no such field: remove it, or correct its name"
}

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

/** Everything that a schema has against a file. */
export const shapeProblems = (issue: SchemaIssue.Issue): readonly [FileProblem, ...Array<FileProblem>] => {
  const [first, ...rest] = issuesOf(issue).issues.map(({ message, path }) => ({
    path: pathText((path ?? []).map((step) => (typeof step === "object" ? step.key : step))),
    message: clearer[message.split(/[,\n]/)[0] ?? ""] ?? message
  }))
  return [first ?? whole("Expected another document"), ...rest]
}

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "")
