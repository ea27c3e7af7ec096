import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  chunkCharactersMax,
  chunksOf as chunksIn,
  overlapCharactersMax
} from "../../src/retrieval/Chunker.ts"
import type { TextForm } from "../../src/retrieval/Units.ts"

/**
 * Markdown as it comes: headings, paragraphs, lists, tables, code, long lines, wide characters and pairs of
 * surrogates.
 */
const parts = [
  "# A heading\n",
  "### Further down\n\n",
  "\n\n",
  "A sentence of some words. And another one, which asks: does it end here? It does!\n",
  "no punctuation at all just words and words and more words that go on and on and on ".repeat(6),
  "- an item\n- another item\n",
  "| a | b |\n| - | - |\n| 1 | 2 |\n",
  "```js\nconst a = 1\n\nconst b = 2\n```\n",
  "```\nnever closed\n",
  "x".repeat(700),
  "汉字没有空格。一句话说完了,下一句又开始了。",
  "😀".repeat(250),
  "\t\r\n  ",
  "é\u0301\u200d"
]
const chunksOf = (text: string, form: Partial<TextForm> = {}) => [
  ...chunksIn(text, { pages: null, isTable: false, ...form })
]

const texts = Schema.Array(
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: parts.length - 1 }))
).check(Schema.isMaxLength(60))
const textOf = (picks: ReadonlyArray<number>): string => picks.map((pick) => parts[pick]).join("")

const blank = /^\s*$/

describe("Chunker", () => {
  it.prop("Chunker loses nothing but spaces, and goes on in order", [texts], ([picks]) => {
    const text = textOf(picks)
    let covered = 0
    for (const { end, start } of chunksOf(text)) {
      if (start > covered) assert.match(text.slice(covered, start), blank)
      assert.isAbove(end, covered)
      covered = end
    }
    assert.match(text.slice(covered), blank)
  })

  it.prop("Chunker returns chunks that are bounded, trimmed and whole characters", [texts], ([picks]) => {
    const text = textOf(picks)
    for (const { end, start } of chunksOf(text)) {
      const chunk = text.slice(start, end)
      assert.isAtMost(chunk.length, chunkCharactersMax)
      assert.strictEqual(chunk, chunk.trim())
      assert.isTrue(chunk.isWellFormed())
    }
  })

  it.prop("Chunker repeats no more than the overlap", [texts], ([picks]) => {
    const chunks = chunksOf(textOf(picks))
    for (const [at, { start }] of chunks.entries()) {
      const before = chunks[at - 1]
      if (before !== undefined) assert.isAtMost(before.end - start, overlapCharactersMax)
    }
  })

  it("Chunker keeps the way of headings, and begins a section with its own", () => {
    const body = "This is what the section says, in a sentence. ".repeat(15)
    const text = `# Guide\n\n## First\n\n${body}\n\n## Second\n\n${body}\n\n### Detail\n\n${body}`
    const chunks = chunksOf(text)
    assert.deepStrictEqual(
      chunks.map(({ outline }) => outline.headings),
      [
        ["Guide", "First"],
        ["Guide", "Second"],
        ["Guide", "Second", "Detail"]
      ]
    )
    assert.isTrue(text.slice(chunks[1]!.start).startsWith("## Second"))
  })

  it("Chunker keeps small sections apart, each with its own way, and sheets and slides as siblings", () => {
    const text = "## Articles\n\nBolts.\n\n## Customers\n\nNone.\n\n### Abroad\n\nOne.\n\n# Last\n\nEnd."
    assert.deepStrictEqual(
      chunksOf(text).map(({ end, outline, start }) => [outline.headings.join(" > "), text.slice(start, end)]),
      [
        ["Articles", "## Articles\n\nBolts."],
        ["Customers", "## Customers\n\nNone."],
        ["Customers > Abroad", "### Abroad\n\nOne."],
        ["Last", "# Last\n\nEnd."]
      ]
    )
  })

  it.prop("Chunker no chunk is on two pages", [texts], ([picks]) => {
    const pieces = picks.map((pick) => parts[pick % parts.length]!).filter((part) => !part.startsWith("`"))
    const pages: Array<number> = []
    let text = ""
    for (const piece of pieces) {
      pages.push(text.length)
      text += `${piece.trim()}\n\n`
    }
    const pageOf = (at: number) => pages.filter((page) => page <= at).length
    for (const { end, start } of chunksOf(text, { pages })) {
      const onPage = pageOf(start)
      assert.isAtMost(end, pages[onPage] ?? text.length)
    }
  })

  it("Chunker every part of a long table has its header, but the first, which begins with it", () => {
    const rows = Array.from({ length: 80 }, (_, at) => `| NW-${at} | Controller ${at} | ${at * 7} |`)
    const text = `Intro.\n\n| Article | Name | Lead time |\n| - | - | - |\n${rows.join("\n")}\n\nOutro.`
    const chunks = chunksOf(text)
    const csv = ["article,name,lead time", ...rows.map((row) => row.replaceAll(" | ", ","))].join("\n")
    for (const [own, list] of [
      [text, chunks],
      [csv, chunksOf(csv, { isTable: true })],
      [`\n \n${csv}`, chunksOf(`\n \n${csv}`, { isTable: true })]
    ] as const) {
      assert.isAbove(list.length, 2)
      for (const { end, outline, start } of list) {
        const passage = own.slice(start, end)
        const hasRows = passage.includes("NW-")
        if (hasRows && !/article/i.test(passage)) {
          assert.match(
            outline.tableHeader ?? "",
            /^(\| Article \| Name \| Lead time \||article,name,lead time)$/
          )
        } else assert.isNull(outline.tableHeader)
      }
    }
  })

  it("Chunker repeats the end of a chunk in the next one of the section", () => {
    const text = Array.from({ length: 60 }, (_, at) => `Sentence number ${at} has a few words.`).join(" ")
    const chunks = chunksOf(text)
    assert.isAbove(chunks.length, 1)
    for (const [at, { start }] of chunks.entries()) {
      if (at === 0) continue
      assert.isBelow(start, chunks[at - 1]!.end)
      assert.isTrue(text.slice(start).startsWith("Sentence number"))
    }
  })

  it("Chunker leaves code and tables whole where they fit", () => {
    const code = `\`\`\`\n${"a line of code\n\n".repeat(40)}\`\`\``
    const words = "Some words before it, which fill a chunk. ".repeat(20)
    const text = `${words}\n\n${code}\n\n${words}`
    const chunks = chunksOf(text).map(({ end, start }) => text.slice(start, end))
    assert.isTrue(chunks.some((chunk) => chunk.includes(code)))
  })

  it("Chunker takes no heading from inside of code", () => {
    const text = "# Real\n\n```sh\n# not a heading\nls\n```\n"
    assert.deepStrictEqual(
      chunksOf(text).map(({ outline }) => outline.headings),
      [["Real"]]
    )
  })

  it("Chunker takes time in proportion to the text", () => {
    for (const part of ["a ", "a", "\n", "# ", "`", "| ", "😀", "。"]) {
      const text = part.repeat(400_000 / part.length)
      const begun = performance.now()
      chunksOf(text)
      assert.isBelow(performance.now() - begun, 60_000, JSON.stringify(part))
    }
  })
})
