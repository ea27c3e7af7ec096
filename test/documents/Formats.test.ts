import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  makeDocx,
  makeEpub,
  makeOpenDocument,
  makePptx,
  makeXlsx,
  relationshipsXml,
  slideShape,
  wordNotes,
  wordNumbering,
  wordParagraph,
  wordStyles,
  wordTable
} from "./OfficeFixture.ts"
import { makePdf } from "./PdfFixture.ts"
import { failureOf, readHere } from "./Reading.ts"

const style = (id: string) => `<w:pStyle w:val="${id}"/>`
const item = (numId: number, level = 0) =>
  `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${numId}"/></w:numPr>`

const wordParts = [
  {
    name: "word/_rels/document.xml.rels",
    content: relationshipsXml([
      { id: "rId1", type: "styles", target: "styles.xml" },
      { id: "rId2", type: "numbering", target: "/word/numbering.xml" },
      { id: "rId3", type: "footnotes", target: "footnotes.xml" },
      { id: "rId4", type: "hyperlink", target: "https://parley.example/a?b=1&amp;c=2", isExternal: true },
      { id: "rId5", type: "hyperlink", target: "javascript:alert(1)", isExternal: true }
    ])
  },
  { name: "word/styles.xml", content: wordStyles },
  { name: "word/numbering.xml", content: wordNumbering },
  { name: "word/footnotes.xml", content: wordNotes("A note.") }
]

const link = (id: string, text: string) =>
  `<w:hyperlink r:id="${id}"><w:r><w:t>${text}</w:t></w:r></w:hyperlink>`

describe("Word", () => {
  it.effect("a Word document is read with headings, lists, tables, links and notes", () =>
    Effect.gen(function* () {
      const body = [
        wordParagraph("Report", style("berschrift1")),
        wordParagraph("A &amp; B, in part ", style("Mine")),
        `<w:p><w:r><w:t xml:space="preserve">One </w:t></w:r><w:r><w:t>word</w:t></w:r><w:r><w:t>s.</w:t><w:tab/><w:t>Tab</w:t><w:br/><w:t>Line</w:t><w:footnoteReference w:id="2"/></w:r></w:p>`,
        "<w:p/>",
        wordParagraph("first", item(1)),
        wordParagraph("inner", item(1, 1)),
        wordParagraph("one", item(2)),
        wordParagraph("two", item(2)),
        wordTable([
          ["Name", "Born"],
          ["Ada | Lovelace", "1815-12-10"]
        ]),
        `<w:p>${link("rId4", "a link")}<w:r><w:t xml:space="preserve"> and </w:t></w:r>${link("rId5", "another")}</w:p>`,
        `<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins></w:p>`,
        `<w:p><w:r><mc:AlternateContent><mc:Choice>${wordParagraph("box")}</mc:Choice><mc:Fallback>${wordParagraph("old box")}</mc:Fallback></mc:AlternateContent></w:r></w:p>`,
        `<w:p><w:r><w:fldChar/><w:instrText>HYPERLINK hidden</w:instrText></w:r></w:p>`
      ].join("")
      const read = yield* readHere(makeDocx(body, wordParts))
      assert.strictEqual(
        read.text,
        [
          "# Report",
          "## A & B, in part",
          "One words. Tab\nLine[^2]",
          "- first\n  - inner\n1. one\n2. two",
          "| Name | Born |\n| --- | --- |\n| Ada \\| Lovelace | 1815-12-10 |",
          "[a link](https://parley.example/a?b=1&c=2) and another",
          "inserted",
          "box",
          "[^2]: A note."
        ].join("\n\n")
      )
      assert.strictEqual(
        read.mediaType,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
      )
      assert.isNull(read.pages)
      assert.isFalse(read.truncated)
    })
  )

  it.effect("a Word document gives links of notes their own targets when ids are reused", () =>
    Effect.gen(function* () {
      const documentTargets = [
        { id: "rId1", type: "footnotes", target: "footnotes.xml" },
        { id: "rId4", type: "hyperlink", target: "https://parley.example/document", isExternal: true }
      ]
      const noteTargets = [
        { id: "rId4", type: "hyperlink", target: "https://parley.example/note", isExternal: true }
      ]
      const notes = wordNotes("A note.").replace(
        "</w:p></w:footnote></w:footnotes>",
        `${link("rId4", "Source")}$&`
      )
      const read = yield* readHere(
        makeDocx(`<w:p>${link("rId4", "Text")}</w:p>`, [
          { name: "word/_rels/document.xml.rels", content: relationshipsXml(documentTargets) },
          { name: "word/_rels/footnotes.xml.rels", content: relationshipsXml(noteTargets) },
          { name: "word/footnotes.xml", content: notes }
        ])
      )
      assert.strictEqual(
        read.text,
        "[Text](https://parley.example/document)\n\n[^2]: A note.[Source](https://parley.example/note)"
      )
    })
  )

  it.effect("the text of a Word document is found where the package says, whatever the file name", () =>
    Effect.gen(function* () {
      const read = yield* readHere(makeDocx(wordParagraph("Here"), [], "word/document2.xml"), "png")
      assert.strictEqual(read.text, "Here")
    })
  )
})

describe("PowerPoint", () => {
  it.effect("a PowerPoint file is read slide by slide in the order of the show, with tables and notes", () =>
    Effect.gen(function* () {
      const table =
        "<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Year</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:p><a:r><a:t>Sum</a:t></a:r></a:p></a:tc></a:tr><a:tr><a:tc><a:p><a:r><a:t>2024</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>12</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>"
      const read = yield* readHere(
        makePptx([
          { title: "Plan", shapes: slideShape("body", ["alpha", "beta"]), notes: "Say hello." },
          { title: "Numbers", shapes: table },
          { title: "Points", shapes: slideShape("body", ["gamma", "delta"], 1) }
        ])
      )
      assert.strictEqual(
        read.text,
        [
          "## Slide 1: Plan\n\nalpha\nbeta\n\nNotes: Say hello.",
          "## Slide 2: Numbers\n\n| Year | Sum |\n| --- | --- |\n| 2024 | 12 |",
          "## Slide 3: Points\n\n- gamma\n- delta"
        ].join("\n\n")
      )
      assert.deepStrictEqual(
        read.pages?.map((start) => read.text.slice(start, start + 10)),
        ["## Slide 1", "## Slide 2", "## Slide 3"]
      )
    })
  )
})

describe("Excel", () => {
  it.effect("an Excel file is read with every sheet as a table, and dates and percentages as shown", () =>
    Effect.gen(function* () {
      const read = yield* readHere(
        makeXlsx(
          [
            {
              name: "People &amp; dates",
              rows: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="D1" t="inlineStr"><is><t>Share</t></is></c></row><row r="2"><c r="A2" t="str"><f>UPPER("x")</f><v>Ada</v></c><c r="B2" s="1"><v>45350</v></c><c r="C2" t="b"><v>1</v></c><c r="D2" s="3"><v>0.125</v></c></row><row r="3"><c r="A3" s="2"><v>45350.75</v></c><c r="B3"><v>0.30000000000000004</v></c><c r="C3" t="e"><v>#DIV/0!</v></c><c r="D3" s="4"><v>1</v></c></row>`
            },
            { name: "Empty", rows: '<row r="1"><c r="A1" s="1"/></row>' },
            { name: "Last", rows: '<row r="7"><c><v>7</v></c></row>' }
          ],
          ["<t>Name</t>", "<r><t>Bo</t></r><r><t>rn</t></r><rPh><t>reading</t></rPh>"]
        )
      )
      assert.strictEqual(
        read.text,
        [
          "## People & dates",
          "| Name | Born |  | Share |\n| --- | --- | --- | --- |\n| Ada | 2024-02-28 | TRUE | 12.5% |\n| 2024-02-28 18:00 | 0.3 | #DIV/0! | 1900-01-01 |",
          "## Last",
          "| 7 |\n| --- |"
        ].join("\n\n")
      )
    })
  )

  it.effect("an Excel file is read with days counted from 1904 when the workbook does", () =>
    Effect.gen(function* () {
      const rows = '<row><c s="1"><v>0</v></c><c s="1"><v>43888</v></c></row>'
      const read = yield* readHere(makeXlsx([{ name: "S", rows }], [], { is1904: true }))
      assert.include(read.text, "| 1904-01-01 | 2024-02-28 |")
    })
  )
})

describe("OpenDocument", () => {
  it.effect("texts are read with headings, lists, tables and links", () =>
    Effect.gen(function* () {
      const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`
      const read = yield* readHere(
        makeOpenDocument(
          "text",
          `<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Head</text:h><text:p>A<office:annotation><text:p>comment</text:p></office:annotation><text:s text:c="3"/>b<text:line-break/>c <text:span>d</text:span> <text:a xlink:href="https://parley.example/">link</text:a><text:note><text:note-body><text:p>noted</text:p></text:note-body></text:note></text:p><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>in</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list><table:table><table:table-row>${cell("x")}${cell("y")}</table:table-row><table:table-row>${cell("1")}${cell("2")}</table:table-row></table:table>`
        )
      )
      assert.strictEqual(
        read.text,
        "## Head\n\nA b\nc d [link](https://parley.example/) (noted )\n\n- one\n  - in\n- two\n\n| x | y |\n| --- | --- |\n| 1 | 2 |"
      )
      assert.strictEqual(read.mediaType, "application/vnd.oasis.opendocument.text")
    })
  )

  it.effect("spreadsheets are read without the cells that only fill a sheet", () =>
    Effect.gen(function* () {
      const cell = (text: string, attributes = "") =>
        `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`
      const filler = '<table:table-cell table:number-columns-repeated="16380"/>'
      const sheet = (name: string, rows: string) =>
        `<table:table table:name="${name}">${rows}<table:table-row table:number-rows-repeated="1048000">${filler}</table:table-row></table:table>`
      const read = yield* readHere(
        makeOpenDocument(
          "spreadsheet",
          sheet(
            "One",
            `<table:table-row>${cell("Day")}${cell("N", 'table:number-columns-repeated="2"')}${filler}</table:table-row><table:table-row>${cell("02/03/24", 'office:value-type="date" office:date-value="2024-03-02"')}${cell("5", 'office:value-type="float" office:value="5"')}</table:table-row>`
          ) + sheet("Two", `<table:table-row>${cell("only")}</table:table-row>`)
        )
      )
      assert.strictEqual(
        read.text,
        "## One\n\n| Day | N | N |\n| --- | --- | --- |\n| 2024-03-02 | 5 |\n\n## Two\n\n| only |\n| --- |"
      )
    })
  )

  it.effect("a slide of OpenDocument is named by its title, and has notes only if they say something", () =>
    Effect.gen(function* () {
      const frame = (kind: string, text: string) =>
        `<draw:frame presentation:class="${kind}"><draw:text-box>${text}</draw:text-box><svg:desc>A box</svg:desc></draw:frame>`
      const slide = (body: string, notes: string) =>
        `<draw:page draw:name="page1">${body}<presentation:notes>${frame("notes", notes)}</presentation:notes></draw:page>`
      const read = yield* readHere(
        makeOpenDocument(
          "presentation",
          slide(
            frame("title", "<text:p>The new<text:line-break/>plan</text:p>") +
              frame("outline", "<text:p>alpha</text:p>"),
            "<text:p/>"
          ) +
            slide(
              frame("title", "") + frame("outline", "<text:p>beta</text:p>"),
              "<text:p>Say hello.</text:p>"
            ) +
            slide(frame("title", "<text:p>End</text:p>"), "")
        )
      )
      assert.strictEqual(
        read.text,
        "## Slide 1: The new plan\n\nalpha\n\n## Slide 2\n\nbeta\n\nNotes:\n\nSay hello.\n\n## Slide 3: End"
      )
      assert.lengthOf(read.pages ?? [], 3)
    })
  )

  it.effect("presentations are read with slides as pages", () =>
    Effect.gen(function* () {
      const slide = (name: string, text: string) =>
        `<draw:page draw:name="${name}"><draw:frame><draw:text-box><text:p>${text}</text:p></draw:text-box></draw:frame></draw:page>`
      const read = yield* readHere(
        makeOpenDocument("presentation", slide("page1", "alpha") + slide("End", "omega"))
      )
      assert.strictEqual(read.text, "## Slide 1\n\nalpha\n\n## Slide 2: End\n\nomega")
      assert.deepStrictEqual(read.pages, [0, read.text.indexOf("## Slide 2")])
    })
  )
})

describe("EPUB", () => {
  it.effect("an EPUB is read chapter by chapter in reading order", () =>
    Effect.gen(function* () {
      const read = yield* readHere(
        makeEpub([
          "<h1>One</h1><p>First&nbsp;<i>words</i>.<a id='x'/></p>",
          "<h1>Two</h1><ul><li>item</li></ul>"
        ])
      )
      assert.strictEqual(read.text, "# The Book\n\n# One\n\nFirst words.\n\n# Two\n\n- item")
      assert.strictEqual(read.mediaType, "application/epub+zip")
    })
  )

  it.effect("an EPUB with copy protection is reported as encrypted, one with scrambled fonts is read", () =>
    Effect.gen(function* () {
      const protect = (uri: string) => ({
        name: "META-INF/encryption.xml",
        content: `<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData><enc:CipherReference URI="${uri}"/></enc:CipherData></enc:EncryptedData></encryption>`
      })
      const chapters = ["<p>Words</p>"]
      assert.strictEqual(
        yield* failureOf(makeEpub(chapters, [protect("OEBPS/text/chapter%200.xhtml")])),
        "encrypted"
      )
      const read = yield* readHere(makeEpub(chapters, [protect("OEBPS/fonts/a.otf")]))
      assert.include(read.text, "Words")
    })
  )
})

describe("PDF", () => {
  it.effect("a PDF is read page by page, with the start of each page", () =>
    Effect.gen(function* () {
      const read = yield* readHere(
        makePdf([
          ["First page", "goes on here.", "", "", "A (new) paragraph."],
          [],
          ["Third page: \u00fcber"]
        ])
      )
      assert.strictEqual(
        read.text,
        "First page\ngoes on here.\n\nA (new) paragraph.\n\nThird page: \u00fcber"
      )
      const third = read.text.indexOf("Third")
      assert.deepStrictEqual(read.pages, [0, third - 2, third])
      assert.strictEqual(read.mediaType, "application/pdf")
    })
  )

  it.effect("a PDF is read up to the limit of pages", () =>
    Effect.gen(function* () {
      const read = yield* readHere(makePdf([["one"], ["two"], ["three"]]), "", { pagesMax: 2 })
      assert.deepStrictEqual(
        { text: read.text, pages: read.pages, truncated: read.truncated },
        { text: "one\n\ntwo", pages: [0, 5], truncated: true }
      )
    })
  )

  it.effect("a PDF without text is reported as such", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(readHere(makePdf([[], []])))
      assert.strictEqual(error.reason, "no_text")
      assert.include(error.message, "OCR")
    })
  )
})
