import { Predicate, Result, type Schema } from "effect"
import { replayedTypes } from "./CreateResponse.ts"
import { type FieldProblem, fieldProblem, findingOf, type Path, renderPath } from "./FieldProblem.ts"
import { inputUnderOtherName } from "./IgnoredFields.ts"
import { itemTypes as profileItemTypes } from "./openai/CreateBody.ts"
import { partTypes as profilePartTypes } from "./openai/Parts.ts"
import { machineTypes, webSearchTypes } from "./openai/Tools.ts"

const space = String.raw`[ \t\n\r]`
const scalar = String.raw`(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])`
const noValue = String.raw`(?:(?<![^])|\[(?!${space}*\])|[:,])${space}*(?!${space}|["{[]|${scalar})`

/** Matches what stands before a missing value, and the marks that say where strings are. */
const mark = new RegExp(String.raw`${noValue}|\\[^]|"`, "g")

/** The beginnings of those messages of V8 that have a position, with what is expected there. */
const expectations: ReadonlyArray<readonly [message: string, expected: string]> = [
  ["Expected property name", "a field's name in double quotes or `}`"],
  ["Expected double-quoted property name", "a field's name in double quotes"],
  ["Expected ':'", "a colon"],
  ["Expected ','", "a comma or the closing bracket"],
  ["Unexpected non-whitespace", "the end of the body"],
  ["Bad ", "a character that a string may hold"]
]

// oxlint-disable-next-line no-restricted-properties -- a Schema drops the message of V8, which has the position
const parse = (text: string) => Result.try({ try: (): unknown => JSON.parse(text), catch: String })

/** V8 doesn't say where a value is missing, and some of its messages quote the text, which ours must not. */
const syntaxMessage = (text: string, thrown: string): string => {
  const message = thrown.replace("SyntaxError: ", "")
  let isString = false
  let valueAt = Infinity
  let value = "a value"
  for (const { 0: found, index } of text.matchAll(mark)) {
    if (found === '"') isString = !isString
    else if (!isString) {
      valueAt = index + found.length
      if (found.startsWith("[")) value = "a value or `]`"
      break
    }
  }
  const position = Number(/^[^"]* at position (\d+)/.exec(message)?.[1] ?? Infinity)
  // V8 points behind the backslash.
  const place = /^Bad [eU]/.test(message) ? text.lastIndexOf("\\", position - 1) : position
  const lines = text.slice(0, Math.min(valueAt, place)).split("\n")
  const known = expectations.find(([beginning]) => message.startsWith(beginning))
  const expected = valueAt < place ? value : (known?.[1] ?? "the end of a string")
  return (
    `The request body is not valid JSON: at line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}, ` +
    `${expected} is expected.`
  )
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

/** The field that is missing, and the one that is found, if the body of one endpoint came to the other. */
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

/** Says why a body is no JSON; null if it is. */
export const syntaxProblem = (text: string): FieldProblem | null => {
  if (text === "") return { param: "", message: "The request body is empty; send a JSON object." }
  const parsed = parse(text)
  return Result.isSuccess(parsed) ? null : { param: "", message: syntaxMessage(text, parsed.failure) }
}
