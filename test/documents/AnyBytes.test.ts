import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { extractionVersion } from "../../src/documents/TextExtraction.ts"
import {
  makeDocx,
  makeEpub,
  makeOpenDocument,
  makePptx,
  makeXlsx,
  slideShape,
  wordParagraph
} from "./OfficeFixture.ts"
import { makePdf } from "./PdfFixture.ts"
import { readHere, readThere } from "./Reading.ts"

const limits = { textBytesMax: 5000, documentBytesMax: 1_000_000, pagesMax: 10 }

/** Checks that the outcome is a text within the promised bounds, or a refusal in words of our own. */
const check = (bytes: Buffer, extension: string) =>
  readHere(bytes, extension, limits).pipe(
    Effect.match({
      onSuccess: ({ pages, text }) => {
        assert.isAtMost(Buffer.byteLength(text), limits.textBytesMax)
        assert.isTrue(text.isWellFormed())
        assert.notMatch(text, /\0|\r/)
        assert.notStrictEqual(text.trim(), "")
        assert.isTrue(
          (pages ?? []).every((start, at, all) => start <= text.length && start >= (all[at - 1] ?? 0))
        )
      },
      onFailure: ({ message }) => assert.match(message, /^[ -~\u2013]{1,500}$/)
    })
  )

const anyBytes = Schema.Uint8Array
const anyPlace = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const anyByte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const anyExtension = Schema.Literals(["", "txt", "html", "csv"])

const documents: ReadonlyArray<readonly [name: string, bytes: Buffer]> = [
  ["a Word document", makeDocx(wordParagraph("Some words"))],
  ["a workbook", makeXlsx([{ name: "S", rows: '<row><c t="s"><v>0</v></c></row>' }], ["<t>Text</t>"])],
  ["a presentation", makePptx([{ title: "T", shapes: slideShape("body", ["text"]) }])],
  ["an OpenDocument text", makeOpenDocument("text", "<text:p>Text</text:p>")],
  ["a book", makeEpub(["<p>Words</p>"])],
  ["a PDF", makePdf([["A page"], ["Another"]])],
  [
    "a page",
    Buffer.from(
      "<!doctype html><table><tr><td>a<td>b</table><ul><li>c<pre>d</pre><a href='http://e.example/'>f</a>"
    )
  ]
]

describe("any bytes", () => {
  it.effect.prop(
    "any bytes give a text or a typed error",
    [anyBytes, anyExtension],
    ([bytes, extension]) => check(Buffer.from(bytes), extension),
    { arbitrary: { runs: 300 } }
  )

  for (const [name, document] of documents) {
    it.effect.prop(
      `any bytes of a damaged ${name} give a text or an error`,
      [Schema.Array(Schema.Tuple([anyPlace, anyByte])).check(Schema.isMaxLength(8)), anyPlace],
      ([damages, length]) => {
        const bytes = Buffer.from(document)
        for (const [place, byte] of damages) bytes[place % bytes.length] = byte
        // Half of them are cut off as well.
        return check(length % 2 === 0 ? bytes : bytes.subarray(0, length % bytes.length), "")
      },
      { arbitrary: { runs: 100 } }
    )
  }

  it.live("any bytes give the same result in the reader process", () =>
    Effect.gen(function* () {
      for (const [name, document] of documents) {
        assert.deepStrictEqual(yield* readThere(document), yield* readHere(document), name)
        const damaged = Buffer.from(document).fill(0x41, document.length >> 1, (document.length >> 1) + 20)
        const here = yield* Effect.exit(Effect.mapError(readHere(damaged), ({ reason }) => reason))
        const there = yield* Effect.exit(
          Effect.mapError(readThere(damaged), (error) =>
            error._tag === "ExtractionFailed" ? error.reason : error._tag
          )
        )
        assert.deepStrictEqual(there, here, name)
      }
    })
  )
})

describe("the version of the extraction", () => {
  it.effect("the version of the extraction is raised with every change of the extracted text", () =>
    Effect.gen(function* () {
      const hash = createHash("sha256")
      for (const [name, document] of documents) hash.update(`${name}\0${(yield* readHere(document)).text}\0`)
      const found = { version: extractionVersion, texts: hash.digest("hex").slice(0, 16) }
      assert.deepStrictEqual(found, { version: "9", texts: "df7e41a371f8bb12" })
    })
  )
})
