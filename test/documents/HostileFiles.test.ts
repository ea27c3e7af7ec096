import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeDocx, makeEpub, makeOpenDocument, makeXlsx, wordParagraph, wordTable } from "./OfficeFixture.ts"
import { makeEncryptedPdf, makePdf } from "./PdfFixture.ts"
import { failureOf, readHere } from "./Reading.ts"
import { makeZip } from "./ZipFixture.ts"

const mebibyte = 1024 * 1024
const zeros = (mebibytes: number) => Buffer.alloc(mebibytes * mebibyte, 0x20)
const docxWith = (...parts: Parameters<typeof makeZip>[0]) => makeDocx(wordParagraph("x"), parts)

describe("zip bombs", () => {
  it.effect("a zip bomb of one layer is refused before anything is decompressed", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failureOf(docxWith({ name: "word/media/a", content: zeros(20) })),
        "too_large"
      )
    })
  )

  it.effect("a zip file with wrong sizes is refused beyond the declared size", () =>
    Effect.gen(function* () {
      const body = wordParagraph("word ").repeat(20_000)
      const whole = makeDocx(body)
      const lying = makeZip([
        ...["[Content_Types].xml", "_rels/.rels"].map((name) => ({ name, content: contentOf(name) })),
        { name: "word/document.xml", content: documentXml(body), claimedBytes: 1000 }
      ])
      assert.isTrue((yield* readHere(whole)).text.startsWith("word\n\nword"))
      assert.strictEqual(yield* failureOf(lying), "corrupt")
    })
  )

  it.effect("a zip file whose entries share their bytes is refused", () =>
    Effect.gen(function* () {
      const content = Buffer.from(Array.from({ length: mebibyte }, (_, at) => (at * at * 31) >> 7))
      const shared = Array.from({ length: 20 }, (_, at) => ({
        name: `a${at}`,
        content,
        sharesBytes: at > 0
      }))
      assert.strictEqual(yield* failureOf(docxWith(...shared)), "too_large")
    })
  )

  it.effect("nested zip files are not opened", () =>
    Effect.gen(function* () {
      const inner = makeZip([{ name: "bomb", content: zeros(20) }])
      assert.strictEqual(yield* failureOf(makeZip([{ name: "a.zip", content: inner }])), "unsupported")
      assert.strictEqual((yield* readHere(docxWith({ name: "a.zip", content: inner }))).text, "x")
    })
  )

  it.effect("a zip file with too many entries is refused", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 20_001 }, (_, at) => ({
        name: `a${at}`,
        content: "",
        isStored: true
      }))
      assert.strictEqual(yield* failureOf(makeZip(many)), "too_large")
    })
  )

  it.effect("a zip bomb of text gives text up to the limit", () =>
    Effect.gen(function* () {
      const row = `<row>${'<c t="s"><v>0</v></c>'.repeat(50)}</row>`
      const bomb = makeXlsx([{ name: "S", rows: row.repeat(2000) }], [`<t>${"long text ".repeat(5000)}</t>`])
      assert.isBelow(bomb.length, mebibyte)
      const read = yield* readHere(bomb, "", { textBytesMax: mebibyte })
      assert.isTrue(read.truncated)
      assert.isAtMost(Buffer.byteLength(read.text), mebibyte)
    })
  )
})

describe("names in an archive", () => {
  for (const name of ["../../etc/passwd", "/etc/passwd", "C:\\windows", "a/../../b"]) {
    it.effect(`${name} is refused`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* failureOf(docxWith({ name, content: "x" })), "corrupt")
      })
    )
  }
})

const entities = `<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>`

describe("XML", () => {
  it.effect("XML with a document type is refused: billion laughs, quadratic blowup, external files", () =>
    Effect.gen(function* () {
      for (const start of [
        entities,
        `<!DOCTYPE x [<!ENTITY a "${"a".repeat(100_000)}">]>`,
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">',
        "<!DOCTYPE x>"
      ]) {
        const bytes = makeZip([
          { name: "mimetype", content: "application/vnd.oasis.opendocument.text", isStored: true },
          { name: "content.xml", content: `${start}<x><p>&a;&c;</p></x>` }
        ])
        const error = yield* Effect.flip(readHere(bytes))
        assert.strictEqual(error.reason, "corrupt")
        assert.include(error.message, "DTD")
      }
    })
  )

  it.effect("XML that isn't well-formed, also at its end, is reported as corrupt", () =>
    Effect.gen(function* () {
      for (const body of ["<w:p>", "&unknown;", "</w:p>", "<w:p a=1/>", "\u0001"]) {
        assert.strictEqual(yield* failureOf(makeDocx(body)), "corrupt", body)
      }
    })
  )

  it.effect("XML that is nested too deeply is refused", () =>
    Effect.gen(function* () {
      const depth = 20_000
      const deep = `${"<text:p>".repeat(depth)}x${"</text:p>".repeat(depth)}`
      assert.strictEqual(yield* failureOf(makeOpenDocument("text", deep)), "too_large")
    })
  )

  it.effect("XML of deeply nested tables is read", () =>
    Effect.gen(function* () {
      let table = wordParagraph("deep")
      for (let depth = 0; depth < 60; depth++) table = `<w:tbl><w:tr><w:tc>${table}</w:tc></w:tr></w:tbl>`
      assert.include((yield* readHere(makeDocx(table + wordTable([["a", "b"]])))).text, "deep")
    })
  )
})

describe("repeated and distant cells", () => {
  it.effect("repeated cells are repeated up to a limit", () =>
    Effect.gen(function* () {
      const cell =
        '<table:table-cell table:number-columns-repeated="16000"><text:p>x</text:p></table:table-cell>'
      const row = `<table:table-row table:number-rows-repeated="1000000">${cell}</table:table-row>`
      const read = yield* readHere(
        makeOpenDocument("spreadsheet", `<table:table table:name="S">${row}</table:table>`)
      )
      assert.isBelow(read.text.length, 1000)
    })
  )

  it.effect("cells beyond the columns of a sheet are left out", () =>
    Effect.gen(function* () {
      const rows = Array.from(
        { length: 500 },
        () => '<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>'
      )
      const read = yield* readHere(makeXlsx([{ name: "S", rows: rows.join("") }]))
      assert.isBelow(read.text.length, 10_000)
    })
  )
})

describe("encrypted files", () => {
  it.effect("encrypted files are distinguished from damaged ones", () =>
    Effect.gen(function* () {
      const compound = Buffer.concat([
        Buffer.from("d0cf11e0a1b11ae1", "hex"),
        Buffer.alloc(2000),
        Buffer.from("EncryptedPackage", "utf16le"),
        Buffer.alloc(500)
      ])
      assert.strictEqual(yield* failureOf(compound, "docx"), "encrypted")
      assert.strictEqual(yield* failureOf(makeEncryptedPdf()), "encrypted")
      const encryptedZip = makeZip([
        { name: "[Content_Types].xml", content: "<Types/>", isEncrypted: true },
        { name: "_rels/.rels", content: "<Relationships/>", isEncrypted: true }
      ])
      assert.strictEqual(yield* failureOf(encryptedZip), "encrypted")
      const openDocument = makeOpenDocument(
        "text",
        "",
        "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
      )
      assert.strictEqual(yield* failureOf(openDocument), "encrypted")
    })
  )
})

describe("files that can't be read", () => {
  const cases: ReadonlyArray<readonly [name: string, bytes: Buffer, reason: string]> = [
    ["an old Office file", Buffer.from(`d0cf11e0a1b11ae1${"00".repeat(2000)}`, "hex"), "unsupported"],
    [
      "a PNG",
      Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex"),
      "unsupported"
    ],
    ["a program", Buffer.concat([Buffer.from("7f454c46020101", "hex"), Buffer.alloc(100)]), "unsupported"],
    [
      "an MP3",
      Buffer.concat([Buffer.from("4944330400000000", "hex"), Buffer.alloc(200, 0x01)]),
      "unsupported"
    ],
    ["an archive", makeZip([{ name: "a.txt", content: "text" }]), "unsupported"],
    ["unknown bytes", Buffer.from("0001020304050607ff00fe", "hex"), "unsupported"],
    ["RTF", Buffer.from("{\\rtf1 hello}"), "unsupported"],
    ["nothing", Buffer.alloc(0), "no_text"],
    ["blanks", Buffer.from(" \n\t\n"), "no_text"],
    ["a page without text", Buffer.from("<html><body><script>1</script></body></html>"), "no_text"],
    ["an empty document", makeDocx(""), "no_text"],
    ["a book of empty chapters", makeEpub(["<p/>"]), "no_text"]
  ]
  for (const [name, bytes, reason] of cases) {
    it.effect(`${name}: ${reason}, whatever it is called`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* failureOf(bytes), reason)
      })
    )
  }

  it.effect("files that can't be read are refused with a message that names their type", () =>
    Effect.gen(function* () {
      const png = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex")
      const error = yield* Effect.flip(readHere(png, "txt"))
      assert.include(error.message, "Images can't be read as text")
    })
  )

  it.effect("truncated files are reported as corrupt", () =>
    Effect.gen(function* () {
      const docx = makeDocx(wordParagraph("text ".repeat(1000)))
      assert.strictEqual(yield* failureOf(docx.subarray(0, docx.length >> 1)), "corrupt")
      assert.strictEqual(yield* failureOf(docx.subarray(0, docx.length - 1)), "corrupt")
      const pdf = makePdf([["page"]])
      assert.strictEqual(yield* failureOf(pdf.subarray(0, 40)), "corrupt")
    })
  )

  it.effect("files beyond the size limit are too large, except texts, whose beginning is read", () =>
    Effect.gen(function* () {
      const documentBytesMax = 100_000
      const pdf = Buffer.concat([makePdf([["page"]]), Buffer.alloc(documentBytesMax)])
      assert.strictEqual(yield* failureOf(pdf, "", { documentBytesMax }), "too_large")
      const read = yield* readHere("line\n".repeat(100_000), "txt", { documentBytesMax })
      assert.strictEqual(read.text.length, documentBytesMax)
      assert.isTrue(read.truncated)
    })
  )
})

const documentXml = (body: string) =>
  `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`

const contentOf = (name: string) =>
  name === "_rels/.rels"
    ? '<Relationships><Relationship Id="r" Type="x/officeDocument" Target="word/document.xml"/></Relationships>'
    : '<Types><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
