/** Where a text stops being JSON, and what was expected there. */
export interface JsonSyntaxProblem {
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

/** The index after the string that begins at `at`, or where it breaks off. */
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

/**
 * Finds where a text stops being JSON; null where it doesn't. It is for texts that `JSON.parse` has refused, whose own
 * messages quote the text.
 */
export const jsonSyntaxProblem = (text: string): JsonSyntaxProblem | null => {
  /** The brackets that are open, by what closes them. */
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
      if (!isWhole)
        return placeOf(
          text,
          end,
          end < text.length ? "a character that a string may hold" : "the end of a string"
        )
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
