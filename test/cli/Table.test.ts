import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { render, Table } from "../../src/cli/Table.ts"

const people = new Table(
  ["NAME", "STATUS", "DETAIL"],
  [
    ["ada", "ok", "one two three four five six"],
    ["grace", "failed", "seven"]
  ]
)

const Cell = Schema.String.check(Schema.isPattern(/^[a-z ]{0,30}$/))

describe("a table", () => {
  it("a table aligns its columns and replaces control characters", () => {
    const table = new Table(
      ["A", "LONG"],
      [
        ["wide", "1"],
        ["\u001b[2J", "2"]
      ]
    )
    assert.strictEqual(render(table, null), "A     LONG\nwide  1\n\u{fffd}[2J  2")
  })

  it("a table aligns characters that take two columns of the terminal", () => {
    const table = new Table(["A", "B"], [["手册", "1"]])
    assert.strictEqual(render(table, null), "A     B\n手册  1")
  })

  it("a table is not folded if the output is no terminal", () => {
    const long = new Table(["A"], [["word ".repeat(100).trim()]])
    assert.strictEqual(render(long, null).split("\n").length, 2)
  })

  it("a table folds its widest column between words when the terminal is too narrow", () => {
    assert.strictEqual(
      render(people, 30),
      [
        "NAME   STATUS  DETAIL",
        "ada    ok      one two three",
        "               four five six",
        "grace  failed  seven"
      ].join("\n")
    )
  })

  it("a table becomes one line for each cell when even the longest words don't fit side by side", () => {
    assert.strictEqual(
      render(people, 20),
      [
        "NAME    ada",
        "STATUS  ok",
        "DETAIL  one two",
        "        three four",
        "        five six",
        "",
        "NAME    grace",
        "STATUS  failed",
        "DETAIL  seven"
      ].join("\n")
    )
  })

  it.effect.prop(
    "a table is never wider than the terminal unless one word is, and loses no word",
    [
      Schema.Array(Schema.Tuple([Cell, Cell, Cell])).check(Schema.isMaxLength(4)),
      Schema.Int.check(Schema.isBetween({ minimum: 20, maximum: 90 }))
    ],
    ([rows, columns]) =>
      Effect.sync(() => {
        const text = render(new Table(["A", "B", "C"], rows), columns)
        const words = (all: string) =>
          all
            .split(/\s+/)
            .filter((word) => /^[a-z]/.test(word))
            .toSorted()
        assert.deepStrictEqual(words(text), words(rows.flat().join(" ")))
        const longest = Math.max(0, ...words(text).map(({ length }) => length))
        for (const line of text.split("\n")) assert.isAtMost(line.length, Math.max(columns, longest + 3))
      })
  )
})

describe("a text beside a table", () => {
  it("a text beside a table is not folded, however narrow the terminal", () => {
    const long = "A text that is longer than the terminal is wide, which folds it by itself."
    assert.strictEqual(render([long, new Table(["A"], [["1"]])], 22), `${long}\nA\n1`)
  })
})
