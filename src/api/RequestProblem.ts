import { Predicate, type Schema } from "effect"
import { replayedTypes } from "./CreateResponse.ts"
import { type FieldProblem, fieldProblem, findingOf, type Path, renderPath } from "./FieldProblem.ts"
import { inputUnderOtherName } from "./IgnoredFields.ts"
import { itemTypes as profileItemTypes } from "./openai/CreateBody.ts"
import { partTypes as profilePartTypes } from "./openai/Parts.ts"
import { machineTypes, webSearchTypes } from "./openai/Tools.ts"

/** The first syntax error of a text. */
interface JsonSyntaxProblem {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  readonly expected: string
}

type Expecting = "value" | "first value" | "name" | "first name" | "colon" | "comma" | "end"

const expectations: { readonly [State in Expecting]: string } = {
  value: "a value",
  "first value": "a value or `]`",
  name: "a field's name in double quotes",
  "first name": "a field's name in double quotes or `}`",
  colon: "a colon",
  comma: "a comma or the closing bracket",
  end: "the end of the body"
}

const space = /[ \t\n\r]*/y
const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

const after = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** The index after the string that begins at `at`, or of its first error. */
const readString = (text: string, at: number): { readonly end: number; readonly isWhole: boolean } => {
  let index = at + 1
  while (index < text.length) {
    const unit = text[index] ?? ""
    if (unit === '"') return { end: index + 1, isWhole: true }
    if (unit < " ") break
    const next = unit === "\\" ? after(escape, text, index) : index + 1
    if (next < 0) break
    index = next
  }
  return { end: index, isWhole: false }
}

const placeOf = (text: string, index: number, expected: string): JsonSyntaxProblem => {
  const before = text.slice(0, index)
  const lineStart = before.lastIndexOf("\n") + 1
  return { line: before.split("\n").length, column: index - lineStart + 1, expected }
}

/** Null for valid JSON. The messages of `JSON.parse` can't be used, because they quote the text. */
const jsonSyntaxProblem = (text: string): JsonSyntaxProblem | null => {
  /** The closing brackets of the open objects and lists. */
  const open: Array<"]" | "}"> = []
  let expecting: Expecting = "value"
  let index = 0
  const afterValue = (): Expecting => (open.length === 0 ? "end" : "comma")
  while (true) {
    index = after(space, text, index)
    const unit = text[index]
    if (unit === undefined) return expecting === "end" ? null : placeOf(text, index, expectations[expecting])
    const closes = expecting === "comma" || expecting === "first value" || expecting === "first name"
    if (closes && unit === open.at(-1)) {
      open.pop()
      expecting = afterValue()
      index++
    } else if (expecting === "comma" && unit === ",") {
      expecting = open.at(-1) === "}" ? "name" : "value"
      index++
    } else if (expecting === "colon" && unit === ":") {
      expecting = "value"
      index++
    } else if (unit === '"' && expecting !== "comma" && expecting !== "colon" && expecting !== "end") {
      const { end, isWhole } = readString(text, index)
      if (!isWhole) {
        const expected = end < text.length ? "a character that a string may hold" : "the end of a string"
        return placeOf(text, end, expected)
      }
      expecting = expecting === "name" || expecting === "first name" ? "colon" : afterValue()
      index = end
    } else if (expecting === "value" || expecting === "first value") {
      if (unit === "[" || unit === "{") {
        open.push(unit === "[" ? "]" : "}")
        expecting = unit === "[" ? "first value" : "first name"
        index++
        continue
      }
      const end = after(scalar, text, index)
      if (end < 0) return placeOf(text, index, expectations[expecting])
      expecting = afterValue()
      index = end
    } else {
      return placeOf(text, index, expectations[expecting])
    }
  }
}

/** A `type` that may be quoted in a message: a name from an interface, never a text of the user. */
const typeName = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/

const partTypes = ["input_text", "input_file", "output_text"]
const itemTypes = ["message", "item_reference", ...replayedTypes]

/** Advice for parts of other interfaces. */
const partRemedies: ReadonlyMap<string, string> = new Map([
  ["text", "use input_text"],
  ["file", "upload the file with POST /v1/files and use input_file with its id"],
  ["refusal", "replay it as output_text"],
  ["input_image", "images are not supported"],
  ["image_url", "images are not supported"],
  ["image", "images are not supported"],
  ["input_audio", "audio is not supported"]
])

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, key) => (Predicate.isObjectOrArray(inner) ? Reflect.get(inner, key) : undefined),
    value
  )

const foreignType = (value: unknown, known: ReadonlyArray<string>): string | null => {
  const type = at(value, ["type"])
  return typeof type === "string" && typeName.test(type) && !known.includes(type) ? type : null
}

/** A problem inside `input[i].content[j]`. */
const partProblem = (body: unknown, path: Path): FieldProblem | null => {
  const place = path.slice(0, 4)
  const part = at(body, place)
  const param = renderPath(place)
  const type = foreignType(part, partTypes)
  if (type !== null) {
    const remedy = partRemedies.get(type)
    return {
      param,
      message:
        `\`${param}\` has the type \`${type}\`, which is not supported` +
        `${remedy === undefined ? "" : `: ${remedy}`}. Parts are ${partTypes.join(", ")}.`
    }
  }
  const inline = ["file_data", "file_url"].find((name) => at(part, [name]) !== undefined)
  if (path[4] !== "file_id" || at(part, ["file_id"]) !== undefined || inline === undefined) return null
  return {
    param: renderPath(path),
    message: `\`${renderPath(path)}\` is missing, and \`${inline}\` is not supported: upload the file with POST /v1/files and give its id.`
  }
}

/** A problem of `input[i]` that its type may explain. */
const itemProblem = (
  body: unknown,
  path: Path,
  known: ReadonlyArray<string> = itemTypes
): FieldProblem | null => typeProblem(body, path.slice(0, 2), known, "Items are")

/** A problem of what is at `place`, if its type is none that is known there. */
const typeProblem = (
  body: unknown,
  place: Path,
  known: ReadonlyArray<string>,
  lead: string
): FieldProblem | null => {
  const type = foreignType(at(body, place), known)
  if (type === null) return null
  const param = `${renderPath(place)}.type`
  return {
    param,
    message: `\`${param}\` is \`${type}\`, which is not supported. ${lead} ${known.join(", ")}.`
  }
}

const missingInput = (body: unknown): FieldProblem | null => {
  const other = Predicate.isObject(body) ? inputUnderOtherName(body) : null
  if (other === null) return null
  const shown = typeName.test(other) ? `\`${other}\`` : "another field"
  return {
    param: "input",
    message: `\`input\` is missing. Send what is in ${shown} as \`input\`: a text, or a list of items with \`role\` and \`content\`.`
  }
}

/** Why a JSON body is no valid `CreateResponse`. The message may name a type, and quotes no other value. */
export const requestProblem = (error: Schema.SchemaError, body: unknown): FieldProblem => {
  const { missing, path } = findingOf(error)
  const special =
    path[0] !== "input"
      ? null
      : path.length === 1
        ? missing
          ? missingInput(body)
          : null
        : path[2] === "content" && path.length >= 4
          ? partProblem(body, path)
          : itemProblem(body, path)
  return special ?? fieldProblem(error)
}

/** Where the body of one endpoint came to the other: what each of them lacks then, and has. */
const mixedUp = [
  { missing: "input", found: "messages", other: "POST /openai/v1/chat/completions" },
  { missing: "messages", found: "input", other: "POST /openai/v1/responses" }
]

/** A problem that the type of an item, or of its part, explains. */
const profileItemProblem = (body: unknown, path: Path): FieldProblem | null => {
  if ((path[0] !== "input" && path[0] !== "items") || path.length < 2) return null
  const item = itemProblem(body, path, profileItemTypes)
  return item !== null || path[2] !== "content" || path.length < 4
    ? item
    : typeProblem(body, path.slice(0, 4), profilePartTypes, "Parts are")
}

/** The first is a chat's. */
const choiceTypes = (body: unknown): ReadonlyArray<string> =>
  Predicate.hasProperty(body, "messages")
    ? ["function", "custom", "allowed_tools"]
    : ["function", "custom", ...webSearchTypes, "file_search", ...machineTypes, "allowed_tools"]

/** The same for the second profile. */
export const profileProblem = (error: Schema.SchemaError, body: unknown): FieldProblem => {
  const { missing, path } = findingOf(error)
  const foreign =
    path[0] === "tool_choice"
      ? typeProblem(
          body,
          path.slice(0, 1),
          choiceTypes(body),
          "A choice is auto, none, required, or of the type"
        )
      : profileItemProblem(body, path)
  if (foreign !== null) return foreign
  const mixed = mixedUp.find(
    (one) => missing && path.length === 1 && path[0] === one.missing && Predicate.hasProperty(body, one.found)
  )
  return mixed === undefined
    ? fieldProblem(error)
    : {
        param: mixed.missing,
        message: `\`${mixed.missing}\` is missing. A body with \`${mixed.found}\` is for ${mixed.other}.`
      }
}

const syntaxMessage = ({ column, expected, line }: JsonSyntaxProblem): string =>
  `The request body is not valid JSON: at line ${line}, column ${column}, ${expected} is expected.`

/** Why a body is no JSON, or null. */
export const syntaxProblem = (text: string): FieldProblem | null => {
  if (text === "") return { param: "", message: "The request body is empty; send a JSON object." }
  const problem = jsonSyntaxProblem(text)
  return problem === null ? null : { param: "", message: syntaxMessage(problem) }
}
