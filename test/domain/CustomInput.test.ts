import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { argumentsOf, inputOf, makeInputReader } from "../../src/domain/CustomInput.ts"

const inPieces = (args: string, size: number): ReadonlyArray<string> => {
  const reader = makeInputReader()
  const pieces = Array.from({ length: Math.ceil(args.length / size) }, (_, at) =>
    reader.write(args.slice(at * size, at * size + size))
  )
  return [...pieces, reader.end()]
}

const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))

describe("the input of a custom tool", () => {
  it.prop(
    "the input of a custom tool is the text in the arguments, whatever their pieces are",
    [Schema.String, Size],
    ([text, size]) => {
      const escaped = argumentsOf(text).replaceAll(
        /[^\0-\x7f]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
      )
      for (const args of [argumentsOf(text), ` {\n"input" : ${JSON.stringify(text)}, "more": 1}`, escaped]) {
        assert.strictEqual(inputOf(args), text)
        const pieces = inPieces(args, size)
        assert.strictEqual(pieces.join(""), text)
        assert.isTrue(pieces.every((piece) => !/[\ud800-\udbff]$/.test(piece)) || !text.isWellFormed())
      }
    }
  )

  it.prop(
    "the input of malformed arguments is the same at once and in pieces",
    [Schema.String, Size],
    ([tail, size]) => {
      for (const args of [tail, `{"input":"${tail}`, `{"input":"a\\u00e4${tail}"}`, `{"other":"${tail}"}`])
        assert.strictEqual(inPieces(args, size).join(""), inputOf(args))
    }
  )

  it("the input of a custom tool streams as it is written, and not at the end", () => {
    assert.deepStrictEqual(inPieces('{"input":"ab\\n\\u00e4c"}', 4), ["", "", "ab", "\n", "ä", "c", ""])
    for (const [args, text] of [
      ["plain words", "plain words"],
      ['{"input":"cut', "cut"],
      ['{"input":"cut\\u12', "cut\\u12"],
      ['{"input":"a\nb"}', "a\nb"],
      ['{"input":"a\\x"}', "a\\x"],
      ['{"input":"a"} and more', "a"],
      ['{"other":1,"input":"a"}', "a"],
      [`{"input":${" ".repeat(300)}"a"}`, "a"]
    ] as const)
      assert.strictEqual(inputOf(args), text)
  })
})
