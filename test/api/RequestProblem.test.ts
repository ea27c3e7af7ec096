import { assert, describe, it } from "@effect/vitest"
import { syntaxProblem } from "../../src/api/RequestProblem.ts"

/** Each message that V8 has for broken JSON, with what a client is told in its place. */
const broken: ReadonlyArray<readonly [text: string, line: number, column: number, expected: string]> = [
  ["{", 1, 2, "a field's name in double quotes or `}`"],
  ["{'a': 1}", 1, 2, "a field's name in double quotes or `}`"],
  ['{"a": 1,\n}', 2, 1, "a field's name in double quotes"],
  ['{"a" 1}', 1, 6, "a colon"],
  ["[1 2]", 1, 4, "a comma or the closing bracket"],
  ['{"a": 1', 1, 8, "a comma or the closing bracket"],
  ["{} x", 1, 4, "the end of the body"],
  ['"a', 1, 3, "the end of a string"],
  ['"a\\', 1, 4, "the end of a string"],
  ['"a\nb"', 1, 3, "a character that a string may hold"],
  ['"a\\q"', 1, 3, "a character that a string may hold"],
  ['"a\\u12"', 1, 3, "a character that a string may hold"],
  [" ", 1, 2, "a value"],
  ["NaN", 1, 1, "a value"],
  ["undefined", 1, 1, "a value"],
  ['{"a": secret}', 1, 7, "a value"],
  ['{"a": "[,", "b": nul', 1, 18, "a value"],
  ["[1,]", 1, 4, "a value"],
  ["[", 1, 2, "a value or `]`"],
  ["[\n  -]", 2, 3, "a value or `]`"],
  ["[01]", 1, 2, "a value or `]`"],
  ["[1.]", 1, 2, "a value or `]`"],
  ["[2, 1e]", 1, 5, "a value"],
  ['["\\\\",\n "at position 1", true false]', 2, 24, "a comma or the closing bracket"]
]

describe("syntaxProblem", () => {
  it.each(broken)(
    "syntaxProblem names the place and what is expected there: %s",
    (text, line, column, expected) => {
      assert.strictEqual(
        syntaxProblem(text)?.message,
        `The request body is not valid JSON: at line ${line}, column ${column}, ${expected} is expected.`
      )
    }
  )

  it("syntaxProblem reads a position from V8's own words, and not from the text that V8 quotes", () => {
    assert.include(syntaxProblem('[" at position 1", x]')?.message, "line 1, column 20, a value is")
  })

  it("syntaxProblem is null for valid JSON", () => {
    assert.isNull(syntaxProblem('{"a": ["\\"[,", -1.5e3, true, null, {}, []]}'))
  })
})
