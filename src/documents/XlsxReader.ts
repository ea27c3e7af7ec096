import { MarkdownDocument } from "./MarkdownDocument.ts"
import type { Archive } from "./Archive.ts"
import { readRelationships, relatedPart } from "./OfficePackage.ts"
import type { Reading, ReadingLimits } from "./Reading.ts"
import { formatNumber, type NumberFormat } from "./SheetFormats.ts"
import { untilFull } from "./untilFull.ts"
import { readXml, type XmlElement, type XmlHandler } from "./XmlReader.ts"
import { readCellFormats, readSharedStrings, readWorkbook } from "./XlsxWorkbook.ts"

const mediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

/** Reads a workbook: every sheet as a table, with values as they were calculated last. */
export const readXlsx = async (archive: Archive, part: string, limits: ReadingLimits): Promise<Reading> => {
  const relationships = await readRelationships(archive, part)
  const related = (type: string) => relatedPart(archive, relationships, type)
  const { is1904, sheets } = await readWorkbook(archive, part, relationships)
  const strings = await readSharedStrings(archive, related("sharedStrings"))
  const formats = await readCellFormats(archive, related("styles"))
  const document = new MarkdownDocument(limits.textBytesMax)
  const { text, truncated } = await untilFull(document, async () => {
    for (const sheet of sheets) {
      const rows = new SheetRows({ document, name: sheet.name, strings, formats, is1904 })
      await readXml(archive, sheet.part, rows)
      rows.finish()
    }
  })
  return { text, mediaType, truncated, pages: null }
}

interface SheetContext {
  readonly document: MarkdownDocument
  readonly name: string
  readonly strings: ReadonlyArray<string>
  readonly formats: ReadonlyArray<NumberFormat>
  readonly is1904: boolean
}

const columnsMax = 1024
const valueCharactersMax = 100_000

class SheetRows implements XmlHandler {
  private readonly context: SheetContext
  private cells: Array<string> = []
  private column = 0
  private type = "n"
  private style = 0
  private value = ""
  private isValue = false
  private isBegun = false

  constructor(context: SheetContext) {
    this.context = context
  }

  readonly open = ({ attribute, name }: XmlElement): void => {
    if (name === "row") this.cells = []
    else if (name === "c") {
      const reference = attribute("r")
      this.column = reference === undefined ? this.cells.length : columnOf(reference)
      this.type = attribute("t") ?? "n"
      this.style = Number(attribute("s") ?? 0)
      this.value = ""
    } else if (name === "v" || name === "t") this.isValue = true
  }

  readonly close = (name: string): void => {
    if (name === "v" || name === "t") this.isValue = false
    else if (name === "c") this.closeCell()
    else if (name === "row") this.closeRow()
  }

  readonly text = (text: string): void => {
    if (this.isValue && this.value.length < valueCharactersMax)
      this.value += text.slice(0, valueCharactersMax)
  }

  /** A sheet without a single value isn't mentioned. */
  finish(): void {
    if (this.isBegun) this.context.document.closeTable()
  }

  private closeCell(): void {
    const text = this.cellText().trim()
    if (text === "" || this.column >= columnsMax) return
    while (this.cells.length < this.column) this.cells.push("")
    this.cells[this.column] = text
  }

  private cellText(): string {
    const { formats, is1904, strings } = this.context
    if (this.type === "s") return strings[Number(this.value)] ?? ""
    if (this.type === "b") return this.value === "1" ? "TRUE" : "FALSE"
    if (this.type === "d") return this.value.replace("T", " ")
    return this.type === "n" ? formatNumber(this.value, formats[this.style] ?? "number", is1904) : this.value
  }

  private closeRow(): void {
    if (this.cells.length === 0) return
    const { document, name } = this.context
    if (!this.isBegun) {
      this.isBegun = true
      document.block(name, 2)
      document.openTable(true)
    }
    for (const cell of this.cells) document.cell(cell)
    document.closeRow()
  }
}

/** The column of a reference such as `AB12`, counted from 0. */
const columnOf = (reference: string): number => {
  let column = 0
  for (const letter of reference) {
    const digit = letter.charCodeAt(0) - 64
    if (digit < 1 || digit > 26) break
    column = column * 26 + digit
  }
  return column - 1
}
