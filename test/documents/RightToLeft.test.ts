import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { linesOfPage, type TextItem } from "../../src/documents/PdfReader.ts"
import { readHere } from "./Reading.ts"

const pdf = (name: string): Buffer => readFileSync(new URL(`pdfs/${name}.pdf`, import.meta.url))

const latinWidth = 5
const height = 10

/** A line as it is seen: each word is an item at its place, with a space after it. */
const seen = (words: ReadonlyArray<string>): ReadonlyArray<TextItem> => {
  let left = 0
  return words.map((str) => {
    const width = str.length * latinWidth
    const item = {
      str,
      dir: /[\u0590-\u08ff]/.test(str) ? "rtl" : "ltr",
      hasEOL: false,
      width,
      height,
      transform: [height, 0, 0, height, left, 0]
    }
    left += width + latinWidth
    return item
  })
}

const textOf = (items: ReadonlyArray<TextItem>): string =>
  linesOfPage(items)
    .map(({ text }) => text.trim())
    .join("\n")
    .trim()

describe("a PDF in a script from right to left", () => {
  it.effect("printed by Chromium is read in logical order, in plain letters", () =>
    Effect.gen(function* () {
      const { text } = yield* readHere(pdf("right-to-left-chromium"))
      assert.deepStrictEqual(text.normalize("NFC").split("\n\n"), [
        "يبدأ العمل في الساعة 09:30 صباحاً بتاريخ 2026-05-12.",
        "برنامج Parley Server 4.1 (الإصدار الجديد) سعره 1,250 دولار.",
        "گزارش «پایان سال» تا ۱۵ روز، تلفن: 021-5551234 است.",
        "הגרסה (החדשה) של Acme Ltd עולה 50% יותר מ-10 בשָׁלוֹם.",
        "دفتر Lahore میں 9 بجے کھلتا ہے۔",
        "The word سلام means peace, שלום the same (page 12)."
      ])
    })
  )

  it.effect("exported by LibreOffice is read in logical order, with its brackets and spaces", () =>
    Effect.gen(function* () {
      const { text } = yield* readHere(pdf("right-to-left-libreoffice"))
      assert.deepStrictEqual(text.split("\n\n"), [
        "يبدأ العمل في الساعة 09:30 يوم 2026-05-12",
        "برنامج Parley 4.1 (الإصدار الجديد) سعره 1,250",
        "הגרסה (החדשה) של Acme עולה 50% יותר"
      ])
    })
  )

  it("a right-to-left PDF is ordered by the language of each line", () => {
    assert.strictEqual(textOf(seen(["See", "שלום", "below."])), "See שלום below.")
    assert.strictEqual(textOf(seen([".English", "של", "הגרסה"])), "הגרסה של English.")
    assert.strictEqual(textOf(seen(["English", "של", "החדשה", "הגרסה"])), "הגרסה החדשה של English")
  })

  it("a right-to-left PDF is read in time proportional to its length", () => {
    const letters = 200_000
    for (const kind of ["$", "1", "(", "x", "\u05d0", "\u064b"]) {
      const [item] = seen([kind.repeat(letters)])
      assert.isAbove(textOf([...seen(["שלום"]), item!]).length, letters)
    }
    assert.isAbove(textOf(seen(Array.from({ length: letters }, () => "אב"))).length, letters)
  })
})

describe("a PDF in Chinese", () => {
  it.effect("printed by Chromium has ideographs where its fonts name radicals", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* readHere(pdf("chinese-chromium"))).text, "人民生活，立方米，见长门。")
    })
  )
})
