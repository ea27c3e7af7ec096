import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { pages, place, root } from "./Documents.ts"
import { repetitionsIn } from "./Repetitions.ts"

const table = `
| field    | what it does             |
| -------- | ------------------------ |
| \`input\` | what the model is asked  |
| \`store\` | whether it is kept       |
`

describe("the documentation", () => {
  it("no page has a heading, a row of a table or a sentence twice", () => {
    const all = pages()
    assert.isAbove(all.length, 30)
    const found = all.flatMap((page) =>
      repetitionsIn(readFileSync(join(root, page.path), "utf8")).map(
        (again) => `${place(page, again)}: stands twice: ${again.text}`
      )
    )
    assert.deepStrictEqual(found, [])
  })
})

describe("repetitions", () => {
  it("a table that was pasted below itself is found, with all of its rows", () => {
    assert.deepStrictEqual(
      repetitionsIn(table + table.trimStart()).map(({ line }) => line),
      [6, 8, 9]
    )
  })

  it("a paragraph that was changed in part is found by the sentence that is the same", () => {
    const sentence = "The response is made to its end also when its client disconnects."
    assert.deepStrictEqual(
      repetitionsIn(`One thing. ${sentence}\nMore.\n\nAnother thing, in\nother words. ${sentence}\n`),
      [{ text: sentence, line: 4 }]
    )
  })

  it("a heading may stand below another one again, but not below the same", () => {
    assert.deepStrictEqual(repetitionsIn("# A\n\n## 1\n\n### Added\n\n## 2\n\n### Added\n"), [])
    assert.deepStrictEqual(repetitionsIn("# A\n\n## 1\n\n### Added\n\n### Added\n"), [
      { text: "# A > ## 1 > ### Added", line: 7 }
    ])
  })

  it("two tables with the same head and other rows are no repetition", () => {
    assert.deepStrictEqual(repetitionsIn(`${table}\n${table.replaceAll(/(model|kept)/g, "$1 now")}`), [])
  })
})
