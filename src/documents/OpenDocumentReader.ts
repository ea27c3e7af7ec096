import { type Archive, readXml, type XmlElement, type XmlHandler } from "./Archive.ts"
import { MarkdownDocument, untilFull } from "./MarkdownDocument.ts"
import { type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"

const prefix = "application/vnd.oasis.opendocument."

/**
 * Reads a text, spreadsheet or presentation of LibreOffice and others. Presentations have a page for every
 * slide.
 */
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

/** Contents of a slide beside its title, which is its heading if it comes first. */
const slideContents: ReadonlySet<string> = new Set(["h", "list", "notes", "p", "table"])

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
  /** The label of the slide until its title is read; null when there is no title to write. */
  private slide: string | null = null
  private isTitle = false
  private title = ""
  /** The label of the slide without a title; empty where it is only numbered. */
  private name = ""
  /** True if notes have begun of which nothing is written yet: most slides have empty ones. */
  private isNotesPending = false

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
    if (this.isTitle) return this.openInTitle(name)
    if (slideContents.has(name)) this.finishTitle()
    if (name === "h" || name === "p") this.openParagraph(name, Number(attribute("outline-level") ?? 1))
    else if (name === "list") this.openList()
    else if (name === "list-item") this.document.openItem()
    else if (name === "page") this.openSlide(attribute("name"))
    else if (name === "frame") this.isTitle = this.slide !== null && attribute("class") === "title"
    else if (name === "notes") this.isNotesPending = this.kind === "presentation"
    else if (name === "a") this.document.openLink(this.isSheet ? "" : (attribute("href") ?? ""))
    else if (name === "note") this.write(" (")
    else if (name === "s") this.write(" ".repeat(Math.min(Number(attribute("c") ?? 1) || 1, spacesMax)))
    else if (name === "tab") this.write(" ")
    else if (name === "line-break") this.lineBreak()
    else this.openTablePart(element)
  }

  readonly close = (name: string): void => {
    if (name === "page" || (this.isTitle && name === "frame")) this.finishTitle()
    else if (this.isTitle) this.closeInTitle(name)
    else if (name === "notes") this.isNotesPending = false
    else if (name === "h" || name === "p") this.closeParagraph()
    else if (name === "list") this.closeList()
    else if (name === "list-item") this.document.closeItem()
    else if (name === "a") this.document.closeLink()
    else if (name === "note") this.write(") ")
    else if (name === "table") this.document.closeTable()
    else if (name === "table-row") this.closeRow()
    else if (name === "table-cell") this.closeCell()
  }

  readonly text = (text: string): void => {
    if (this.paragraphs === 0) return
    if (this.isTitle) this.title += text
    else this.write(text)
  }

  private get isSheet(): boolean {
    return this.kind === "spreadsheet"
  }

  private write(text: string): void {
    if (this.isSheet) this.cellText += text
    else {
      if (this.isNotesPending && text.trim() !== "") this.beginNotes()
      this.document.flow.text(text)
    }
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
    if (this.isNotesPending) this.beginNotes()
    if (this.listDepth === 0) this.document.flow.endBlock()
    this.listDepth++
  }

  private closeList(): void {
    this.listDepth--
    if (this.listDepth === 0) this.document.flow.endBlock()
  }

  private beginNotes(): void {
    this.isNotesPending = false
    this.document.flow.endBlock()
    this.document.flow.text("Notes:")
    this.document.flow.endBlock()
  }

  private openSlide(name: string | undefined): void {
    this.document.beginPage()
    const isNamed = name !== undefined && !/^(page|slide|seite|folie)? ?\d+$/i.test(name)
    this.slide = `Slide ${this.slides}`
    this.title = ""
    this.name = isNamed ? name : ""
  }

  private openInTitle(name: string): void {
    if (name === "p") this.paragraphs++
    else if (name === "s" || name === "tab" || name === "line-break") this.title += " "
  }

  private closeInTitle(name: string): void {
    if (name !== "p") return
    this.paragraphs--
    this.title += " "
  }

  /** Writes the heading of the slide once. */
  private finishTitle(): void {
    this.isTitle = false
    if (this.slide === null) return
    const title = this.title.replace(/\s+/g, " ").trim() || this.name
    this.document.title(title === "" ? this.slide : `${this.slide}: ${title}`)
    this.slide = null
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
