import { readFile } from "node:fs/promises"
import { Effect, Schema, SchemaIssue } from "effect"
import { jsonPlaces, lineAndColumn, pathText } from "./JsonPlaces.ts"

/** The longest file that a setting may name, in bytes. */
const fileBytesMax = 1024 * 1024

/** The problem of a file with its place. `place` is the line, where it is known. */
export const FileProblem = Schema.Struct({
  path: Schema.String,
  message: Schema.String,
  place: Schema.optionalKey(Schema.String)
})
export type FileProblem = typeof FileProblem.Type

/** A problem on one line. */
export const problemLine = ({ message, path, place = "" }: FileProblem): string =>
  [[place, path].filter((part) => part !== "").join(", "), message].filter((part) => part !== "").join(": ")

const whole = (message: string): FileProblem => ({ path: "", message })

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** The content of a file of JSON, not yet checked. */
interface JsonContent {
  readonly given: unknown
  /** The same problem with the line that its path leads to. */
  readonly locate: (problem: FileProblem) => FileProblem
}

export const missing = "Missing: this field is required"

/** Names that are not those of fields are quoted in paths. */
const unquoted = (path: string): string => path.replace(/"([^"]*)"$/, "$1")

const locateIn = (source: string): JsonContent["locate"] => {
  const { offsets } = jsonPlaces(source)
  return (problem) => {
    // A missing field has no line of its own, and belongs to the object that begins there.
    const path = problem.message === missing ? problem.path.replace(/\.?[^.]*$/, "") : unquoted(problem.path)
    const offset = offsets.get(path)
    return offset === undefined
      ? problem
      : { ...problem, place: `line ${lineAndColumn(source, offset).line}` }
  }
}

const notJson = (source: string): FileProblem => {
  const { problemAt } = jsonPlaces(source)
  const { column, line } = lineAndColumn(source, problemAt ?? 0)
  return {
    path: "",
    place: `line ${line}, column ${column}`,
    message:
      "Expected a JSON document. A comma, a quote or a bracket is missing or too much here or before; comments are not allowed"
  }
}

/** Reads a file of JSON that a setting names. */
export const readJsonFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<JsonContent, FileProblem> {
  const bytes = yield* Effect.tryPromise({
    try: () => readFile(file),
    catch: () => whole("the file can't be read")
  })
  if (bytes.length > fileBytesMax) return yield* Effect.fail(whole("the file is too long"))
  const source = bytes.toString("utf8")
  const given = yield* Effect.mapError(decodeJson(source), () => notJson(source))
  return { given, locate: locateIn(source) }
})

/** The formatter's words that say too little about a file. */
const clearer: Readonly<Record<string, string>> = {
  "Missing key": missing,
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
