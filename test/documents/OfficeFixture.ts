import { makeZip, type ZipPart } from "./ZipFixture.ts"

/** Small documents in the formats of offices, as their programs write them. */

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
const wordNames =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" ' +
  `xmlns:r="${relations}"`

export interface RelationshipFixture {
  readonly id: string
  readonly type: string
  readonly target: string
  readonly isExternal?: boolean
}

export const relationshipsXml = (list: ReadonlyArray<RelationshipFixture>): string =>
  `${declaration}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list
    .map(
      ({ id, isExternal, target, type }) =>
        `<Relationship Id="${id}" Type="${relations}/${type}" Target="${target}"${isExternal === true ? ' TargetMode="External"' : ""}/>`
    )
    .join("")}</Relationships>`

const office = (part: string, contentType: string, parts: ReadonlyArray<ZipPart>): Buffer =>
  makeZip([
    {
      name: "[Content_Types].xml",
      content: `${declaration}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${part}" ContentType="${contentType}"/></Types>`
    },
    {
      name: "_rels/.rels",
      content: relationshipsXml([{ id: "rId1", type: "officeDocument", target: part }])
    },
    ...parts
  ])

const wordType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"

/** A Word document with this body. */
export const makeDocx = (
  body: string,
  parts: ReadonlyArray<ZipPart> = [],
  part = "word/document.xml"
): Buffer =>
  office(part, wordType, [
    { name: part, content: `${declaration}<w:document ${wordNames}><w:body>${body}</w:body></w:document>` },
    ...parts
  ])

export const wordParagraph = (text: string, properties = ""): string =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`

export const wordTable = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  `<w:tbl>${rows
    .map((cells) => `<w:tr>${cells.map((cell) => `<w:tc>${wordParagraph(cell)}</w:tc>`).join("")}</w:tr>`)
    .join("")}</w:tbl>`

export const wordStyles = `${declaration}<w:styles ${wordNames}><w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style><w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="Outlined"/></w:style><w:style w:type="paragraph" w:styleId="Outlined"><w:name w:val="Outlined"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>`

export const wordNumbering = `${declaration}<w:numbering ${wordNames}><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num></w:numbering>`

export const wordNotes = (text: string): string =>
  `${declaration}<w:footnotes ${wordNames}><w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote><w:footnote w:id="2">${wordParagraph(text)}</w:footnote></w:footnotes>`

export interface SlideFixture {
  readonly title: string
  /** Further shapes, as XML. */
  readonly shapes: string
  readonly notes?: string
}

const slideNames = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${relations}" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

export const slideShape = (placeholder: string, paragraphs: ReadonlyArray<string>, level = 0): string =>
  `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${placeholder}"/></p:nvPr></p:nvSpPr><p:txBody>${paragraphs
    .map((text) => `<a:p><a:pPr lvl="${level}"/><a:r><a:t>${text}</a:t></a:r></a:p>`)
    .join("")}</p:txBody></p:sp>`

/** A presentation whose slides lie in the archive in another order than they are shown. */
export const makePptx = (slides: ReadonlyArray<SlideFixture>): Buffer => {
  const file = (at: number) => `slide${slides.length - at}.xml`
  const parts = slides.flatMap(({ notes, shapes, title }, at): ReadonlyArray<ZipPart> => {
    const slide = {
      name: `ppt/slides/${file(at)}`,
      content: `${declaration}<p:sld ${slideNames}><p:cSld><p:spTree>${slideShape("title", [title])}${shapes}${slideShape("sldNum", ["99"])}</p:spTree></p:cSld></p:sld>`
    }
    if (notes === undefined) return [slide]
    return [
      slide,
      {
        name: `ppt/slides/_rels/${file(at)}.rels`,
        content: relationshipsXml([{ id: "rId1", type: "notesSlide", target: `../notesSlides/n${at}.xml` }])
      },
      {
        name: `ppt/notesSlides/n${at}.xml`,
        content: `${declaration}<p:notes ${slideNames}><p:cSld><p:spTree>${slideShape("body", [notes])}${slideShape("sldNum", ["7"])}</p:spTree></p:cSld></p:notes>`
      }
    ]
  })
  return office(
    "ppt/presentation.xml",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    [
      {
        name: "ppt/presentation.xml",
        content: `${declaration}<p:presentation ${slideNames}><p:sldIdLst>${slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="rId${at + 10}"/>`).join("")}</p:sldIdLst></p:presentation>`
      },
      {
        name: "ppt/_rels/presentation.xml.rels",
        content: relationshipsXml(
          slides.map((_, at) => ({ id: `rId${at + 10}`, type: "slide", target: `slides/${file(at)}` }))
        )
      },
      ...parts
    ]
  )
}

export interface SheetFixture {
  readonly name: string
  /** The rows, as XML. */
  readonly rows: string
}

const sheetNames = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="${relations}"`

/** Styles of cells: 1 is a date, 2 a date with its time, 3 a share, 4 a format of its own for days. */
const sheetStyles = `${declaration}<styleSheet ${sheetNames}><numFmts><numFmt numFmtId="164" formatCode="[$-407]d\\. mmmm yyyy;@"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="10"/><xf numFmtId="164"/></cellXfs></styleSheet>`

export const makeXlsx = (
  sheets: ReadonlyArray<SheetFixture>,
  strings: ReadonlyArray<string> = [],
  more: { readonly is1904?: boolean } = {}
): Buffer =>
  office("xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml", [
    {
      name: "xl/workbook.xml",
      content: `${declaration}<workbook ${sheetNames}><workbookPr date1904="${more.is1904 === true ? 1 : 0}"/><sheets>${sheets.map(({ name }, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join("")}</sheets></workbook>`
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      content: relationshipsXml([
        ...sheets.map((_, at) => ({
          id: `rId${at + 1}`,
          type: "worksheet",
          target: `/xl/worksheets/s${at}.xml`
        })),
        { id: "rId90", type: "sharedStrings", target: "sharedStrings.xml" },
        { id: "rId91", type: "styles", target: "styles.xml" }
      ])
    },
    {
      name: "xl/sharedStrings.xml",
      content: `${declaration}<sst ${sheetNames}>${strings.map((text) => `<si>${text}</si>`).join("")}</sst>`
    },
    { name: "xl/styles.xml", content: sheetStyles },
    ...sheets.map(({ rows }, at) => ({
      name: `xl/worksheets/s${at}.xml`,
      content: `${declaration}<worksheet ${sheetNames}><sheetData>${rows}</sheetData></worksheet>`
    }))
  ])

const openNames =
  'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'

/** A document of LibreOffice with this body. */
export const makeOpenDocument = (
  kind: "text" | "spreadsheet" | "presentation",
  body: string,
  manifest = ""
): Buffer =>
  makeZip([
    { name: "mimetype", content: `application/vnd.oasis.opendocument.${kind}`, isStored: true },
    {
      name: "content.xml",
      content: `${declaration}<office:document-content ${openNames}><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`
    },
    {
      name: "META-INF/manifest.xml",
      content: `${declaration}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">${manifest}</manifest:manifest>`
    }
  ])

/** A book with these chapters, as XHTML. The reading order isn't the order in the archive. */
export const makeEpub = (chapters: ReadonlyArray<string>, parts: ReadonlyArray<ZipPart> = []): Buffer =>
  makeZip([
    { name: "mimetype", content: "application/epub+zip", isStored: true },
    {
      name: "META-INF/container.xml",
      content: `${declaration}<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`
    },
    {
      name: "OEBPS/book.opf",
      content: `${declaration}<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Book</dc:title></metadata><manifest>${chapters
        .map(
          (_, at) =>
            `<item id="c${at}" href="text/chapter%20${at}.xhtml" media-type="application/xhtml+xml"/>`
        )
        .toReversed()
        .join(
          ""
        )}</manifest><spine>${chapters.map((_, at) => `<itemref idref="c${at}"/>`).join("")}</spine></package>`
    },
    ...chapters.map((body, at) => ({
      name: `OEBPS/text/chapter ${at}.xhtml`,
      content: `${declaration}<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head><body>${body}</body></html>`
    })),
    ...parts
  ])
