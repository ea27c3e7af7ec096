import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readHere, readThere } from "./Reading.ts"

/** A text of each kind: the bytes are in code, and no charset is needed to write them. */
describe("texts", () => {
  it.effect("plain texts stay unchanged, and get their media type by the extension", () =>
    Effect.gen(function* () {
      const kinds: ReadonlyArray<readonly [extension: string, text: string, mediaType: string]> = [
        ["txt", "A text.\n  Second line\n", "text/plain"],
        ["", "No extension", "text/plain"],
        ["md", "# Head\n\n- *item*", "text/markdown"],
        ["csv", 'a,b\n1,"x\ny"\n', "text/csv"],
        ["tsv", "a\tb\n1\t2\n", "text/tab-separated-values"],
        ["json", '{"a": ["<b>", 1]}', "application/json"],
        ["py", "# %PDF-1.4 is how a PDF begins\nprint('<html>')\n", "text/plain"],
        ["txt", "<html><body>stays</body></html>", "text/plain"],
        ["xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "application/xml"],
        ["png", "BMW is a make of cars", "text/plain"]
      ]
      for (const [extension, text, mediaType] of kinds) {
        const read = yield* readHere(text, extension)
        assert.deepStrictEqual(read, { text, mediaType, truncated: false, pages: null })
      }
    })
  )

  it.effect("plain texts get LF line ends, without NUL and lone surrogates", () =>
    Effect.gen(function* () {
      const lines = `${"a line\r\n".repeat(50)}old\rend`
      const read = yield* readHere(Buffer.from(`${lines}\0`), "txt")
      assert.strictEqual(read.text, `${"a line\n".repeat(50)}old\nend\uFFFD`)
    })
  )

  it.effect("texts are read as pages when they are HTML", () =>
    Effect.gen(function* () {
      const page = "<!DOCTYPE html><title>T</title><h2>Head</h2><p>Text <b>bold</b>"
      for (const extension of ["html", "htm", ""]) {
        const read = yield* readHere(page, extension)
        assert.deepStrictEqual([read.text, read.mediaType], ["# T\n\n## Head\n\nText bold", "text/html"])
      }
    })
  )

  it.effect("texts are decoded in the charset that a page declares", () =>
    Effect.gen(function* () {
      const page = Buffer.concat([
        Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>'),
        Buffer.from([0xd0, 0xd2, 0xc9])
      ])
      assert.strictEqual((yield* readHere(page, "html")).text, "\u043f\u0440\u0438")
    })
  )

  it.live("texts are decoded in the guessed charset, also in the reader process", () =>
    Effect.gen(function* () {
      const moscow = Buffer.from("cceef1eae2e0", "hex")
      const rows = Array.from({ length: 50 }, (_, at) => Buffer.concat([Buffer.from(`${at};`), moscow]))
      const read = yield* readThere(Buffer.concat(rows.flatMap((row) => [row, Buffer.from("\n")])), "csv")
      assert.include(read.text, "49;Москва\n")
    })
  )

  it.effect("texts are cut between characters and marked as truncated", () =>
    Effect.gen(function* () {
      for (const textBytesMax of [1000, 1001, 1002, 1003]) {
        const whole = "\u{1f600}".repeat(250)
        const read = yield* readHere(`${whole}\u{1f600}`, "txt", { textBytesMax })
        assert.deepStrictEqual([read.text, read.truncated], [whole, true])
      }
      const exact = yield* readHere("\u{1f600}".repeat(250), "txt", { textBytesMax: 1000 })
      assert.isFalse(exact.truncated)
    })
  )
})
