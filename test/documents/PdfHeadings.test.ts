import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { textsWithHeadings } from "../../src/documents/PdfHeadings.ts"
import { readHere } from "./Reading.ts"

const pdf = (program: string): Buffer =>
  readFileSync(new URL(`pdfs/headings-${program}.pdf`, import.meta.url))

const body = { text: "The pump stands on a level floor of concrete, and is filled with water.", height: 12 }
const empty = { text: "", height: 0 }
const page = [body, body, body, body, body, body]

const Line = Schema.Struct({
  text: Schema.Literals(["", "One", "Two words", "A line of several words, and a comma", "17", "# 3"]),
  height: Schema.Literals([0, 9, 12, 12.2, 14, 20, 31.7])
})
const Pages = Schema.Array(Schema.Array(Line).check(Schema.isMaxLength(30))).check(Schema.isMaxLength(5))

const wordsOf = (text: string): ReadonlyArray<string> => text.match(/[\p{L}\p{N},]+/gu) ?? []

describe("Headings of a PDF", () => {
  for (const program of ["chromium", "libreoffice"]) {
    it.effect(`the headings of a PDF of ${program} are found by the size of their letters`, () =>
      Effect.gen(function* () {
        const { pages, text } = yield* readHere(pdf(program), "pdf")
        const headings = text.split("\n").filter((line) => line.startsWith("#"))
        assert.deepStrictEqual(headings.slice(0, 4), [
          "# Operating manual of the pump P-40",
          "## 1 Safety",
          "### 1.1 What must be kept",
          "### 1.2 What else is to be known"
        ])
        assert.lengthOf(headings, 16)
        assert.lengthOf(pages ?? [], 6)
        assert.isTrue(text.slice(pages?.[5]).startsWith("## 5 Troubleshooting\n"))
      })
    )
  }

  it("headings of a PDF join several lines, and have levels by their size", () => {
    const [text = ""] = textsWithHeadings([
      [
        { text: "A manual of", height: 26 },
        { text: "two lines", height: 26.1 },
        { text: "Safety", height: 16 },
        empty,
        ...page
      ]
    ])
    assert.match(text, /^\s*# A manual of two lines\n\s*## Safety\n\s*The pump/)
  })

  it("the headings of a PDF aren't found in sentences, numbers, or where most is large", () => {
    const unmarked = (lines: Parameters<typeof textsWithHeadings>[0][number]) =>
      assert.notInclude(textsWithHeadings([lines])[0], "#")
    unmarked(page)
    unmarked([{ text: "42", height: 30 }, ...page])
    unmarked([{ text: "word ".repeat(30), height: 20 }, ...page])
    unmarked([{ text: "A little larger", height: 13 }, ...page])
    unmarked([{ text: "Smaller", height: 8 }, ...page])
    unmarked([
      { text: "A slide says little, but largely", height: 40 },
      { text: "and this is the rest of what it says", height: 20 }
    ])
  })

  it.prop("headings of a PDF lose no word, and change the order of none", [Pages], ([pages]) => {
    const texts = textsWithHeadings(pages)
    assert.lengthOf(texts, pages.length)
    for (const [at, text] of texts.entries())
      assert.deepStrictEqual(wordsOf(text), wordsOf(pages[at]?.map((line) => line.text).join("\n") ?? ""))
  })
})
