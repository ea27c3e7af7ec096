import { type Archive, readXml, type XmlElement, type XmlHandler } from "./Archive.ts"
import { MarkdownDocument, untilFull } from "./MarkdownDocument.ts"
import { type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"

const prefix = "application/vnd.oasis.opendocument."

/** Reads a text, spreadsheet or presentation of LibreOffice and others. Presentations have a page for every slide. */
export const readOpenDocument = async (
  archive: Archive,
  type: string,
  limits: ReadingLimits
): Promise<Reading> => {
  await refuseEncrypted(archive)
  const mediaType = type.replace(/-template$/, "")
  const kind = mediaType.slice(prefix.length)
  const document = new MarkdownDocument(limits.textBytesMax)
  const body = new OpenDocumentBody(document, kind, limits.pagesMax)
  const { text, truncated } = await untilFull(document, () => readXml(archive, "content.xml", body))
  return {
    text,
    mediaType,
    truncated: truncated || body.slides > limits.pagesMax,
    pages: kind === "presentation" ? document.pages : null
  }
}

const refuseEncrypted = async (archive: Archive): Promise<void> => {
  const manifest = "META-INF/manifest.xml"
  if (!archive.has(manifest)) return
  await readXml(archive, manifest, {
    open: ({ name }) => {
      if (name === "encryption-data")
        throw new Unreadable("encrypted", "The file is protected by a password.")
    }
  })
}

/** Deleted text, annotations, and what isn't text. */
const skippedElements: ReadonlySet<string> = new Set(
  "annotation annotation-end binary-data forms scripts tracked-changes".split(" ")
)

const spacesMax = 100
/** A row or cell that is repeated more often only fills the sheet; it is read once. */
const repeatedMax = 100

class OpenDocumentBody implements XmlHandler {
  slides = 0
  private readonly document: MarkdownDocument
  private readonly kind: string
  private readonly slidesMax: number
  private paragraphs = 0
  private listDepth = 0
  private isHeading = false
  private cell: { readonly value: string | null; readonly repeated: number } = { value: null, repeated: 1 }
  /** The cells of a spreadsheet's row, as texts. */
  private row: Array<string> = []
  private rowRepeated = 1
  private cellText = ""

  constructor(document: MarkdownDocument, kind: string, slidesMax: number) {
    this.document = document
    this.kind = kind
    this.slidesMax = slidesMax
  }

  readonly skips = ({ name }: XmlElement): boolean => {
    if (name === "page") this.slides++
    return skippedElements.has(name) || (name === "page" && this.slides > this.slidesMax)
  }

  readonly open = (element: XmlElement): void => {
    const { attribute, name } = element
    if (name === "h" || name === "p") this.openParagraph(name, Number(attribute("outline-level") ?? 1))
    else if (name === "list") this.openList()
    else if (name === "list-item") this.document.openItem()
    else if (name === "page") this.openSlide(attribute("name"))
    else if (name === "notes" && this.kind === "presentation") this.openNotes()
    else if (name === "a") this.document.openLink(this.isSheet ? "" : (attribute("href") ?? ""))
    else if (name === "note") this.write(" (")
    else if (name === "s") this.write(" ".repeat(Math.min(Number(attribute("c") ?? 1) || 1, spacesMax)))
    else if (name === "tab") this.write(" ")
    else if (name === "line-break") this.lineBreak()
    else this.openTablePart(element)
  }

  readonly close = (name: string): void => {
    if (name === "h" || name === "p") this.closeParagraph()
    else if (name === "list") this.closeList()
    else if (name === "list-item") this.document.closeItem()
    else if (name === "a") this.document.closeLink()
    else if (name === "note") this.write(") ")
    else if (name === "table") this.document.closeTable()
    else if (name === "table-row") this.closeRow()
    else if (name === "table-cell") this.closeCell()
  }

  readonly text = (text: string): void => {
    if (this.paragraphs > 0) this.write(text)
  }

  private get isSheet(): boolean {
    return this.kind === "spreadsheet"
  }

  private write(text: string): void {
    if (this.isSheet) this.cellText += text
    else this.document.flow.text(text)
  }

  private lineBreak(): void {
    if (this.isSheet) this.cellText += " "
    else this.document.flow.lineBreak()
  }

  private openParagraph(name: string, level: number): void {
    this.paragraphs++
    // The paragraphs of a note are within another one.
    if (this.isSheet || this.paragraphs > 1) return
    this.isHeading = name === "h"
    if (this.isHeading) this.document.heading(Number.isInteger(level) ? level : 1)
    else if (this.listDepth === 0) this.document.flow.endBlock()
  }

  private closeParagraph(): void {
    this.paragraphs--
    if (this.isSheet) this.cellText += " "
    else if (this.paragraphs > 0) this.document.flow.text(" ")
    else if (this.isHeading) this.document.endHeading()
    else if (this.listDepth === 0) this.document.flow.endBlock()
    else this.document.flow.endLine()
    if (this.paragraphs === 0) this.isHeading = false
  }

  private openList(): void {
    if (this.listDepth === 0) this.document.flow.endBlock()
    this.listDepth++
  }

  private closeList(): void {
    this.listDepth--
    if (this.listDepth === 0) this.document.flow.endBlock()
  }

  private openNotes(): void {
    this.document.flow.endBlock()
    this.document.flow.text("Notes:")
    this.document.flow.endBlock()
  }

  private openSlide(name: string | undefined): void {
    this.document.beginPage()
    const isNamed = name !== undefined && !/^(page|slide|seite|folie)? ?\d+$/i.test(name)
    this.document.title(isNamed ? `Slide ${this.slides}: ${name}` : `Slide ${this.slides}`)
  }

  private openTablePart({ attribute, name }: XmlElement): void {
    const repeated = (of: string) => Math.max(1, Number(attribute(`number-${of}-repeated`) ?? 1) || 1)
    if (name === "table") {
      if (this.isSheet) this.document.title(attribute("name") ?? "")
      this.document.openTable(this.isSheet)
    } else if (name === "table-row") {
      this.row = []
      this.rowRepeated = repeated("rows")
    } else if (name === "table-cell" || name === "covered-table-cell") {
      const isDate = attribute("value-type") === "date"
      const date = attribute("date-value")
        ?.replace("T", " ")
        .replace(/ 00:00:00(\.0+)?$/, "")
      this.cell = { value: isDate ? (date ?? null) : null, repeated: repeated("columns") }
      this.cellText = ""
      if (!this.isSheet && name === "table-cell") this.document.openCell()
      else if (name === "covered-table-cell") this.row.push("")
    }
  }

  private closeCell(): void {
    if (!this.isSheet) return this.document.closeCell()
    const { repeated, value } = this.cell
    const text = value ?? this.cellText.trim()
    const times = repeated > repeatedMax ? 1 : repeated
    this.row.push(...Array.from({ length: times }, () => text))
  }

  private closeRow(): void {
    if (!this.isSheet) return this.document.closeRow()
    if (this.row.every((text) => text === "")) return
    const times = this.rowRepeated > repeatedMax ? 1 : this.rowRepeated
    for (let at = 0; at < times; at++) this.document.row(this.row)
  }
}
