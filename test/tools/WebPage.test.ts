import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { pageKind, readPage } from "../../src/tools/WebFetch.ts"

const reading = {
  kind: "html",
  url: "https://www.example.com/",
  charset: null,
  charactersMax: 50_000
} as const

describe("readPage", () => {
  it.effect("lets others have their turn while it reads a page of tags alone", () =>
    Effect.gen(function* () {
      let turns = 0
      let isOver = false
      const turn = () => {
        turns++
        if (!isOver) setImmediate(turn)
      }
      setImmediate(turn)
      const html = `${"<div><ul><li><table><tr><td><blockquote>".repeat(2500)}bees`
      const page = yield* readPage(Buffer.from(html), reading)
      isOver = true
      assert.match(page?.text ?? "", /bees/)
      assert.isAtLeast(turns, Math.floor(html.length / (16 * 1024)))
    })
  )

  it.effect("cuts a page at its characters, without half of one", () =>
    Effect.gen(function* () {
      for (const kind of ["html", "text"] as const) {
        for (let charactersMax = 10; charactersMax < 14; charactersMax++) {
          const page = yield* readPage(Buffer.from("a🐝".repeat(100)), { ...reading, kind, charactersMax })
          assert.isTrue(page?.isCut)
          assert.isAtMost(page?.text.length ?? Infinity, charactersMax)
          assert.isTrue(page?.text.isWellFormed())
        }
      }
    })
  )
})

describe("pageKind", () => {
  it("knows texts, pages and documents, and nothing else", () => {
    const kinds = {
      html: ["text/html", "application/xhtml+xml"],
      text: [
        "text/plain",
        "text/markdown",
        "application/json",
        "application/ld+json",
        "application/atom+xml"
      ],
      document: ["", "application/pdf", "application/octet-stream", "application/epub+zip"],
      none: [
        "image/png",
        "image/svg",
        "audio/mpeg",
        "application/zip",
        "application/x-msdownload",
        "font/woff2"
      ]
    }
    for (const [kind, types] of Object.entries(kinds)) {
      for (const type of types) assert.strictEqual(pageKind(type), kind, type)
    }
  })
})
