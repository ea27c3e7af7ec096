import {
  type Archive,
  readXml,
  type XmlElement,
  type XmlHandler,
  readRelationships,
  relatedPart,
  type Relationship
} from "./Archive.ts"
import { MarkdownDocument, untilFull } from "./MarkdownDocument.ts"
import { type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"

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
      document.title(name)
      document.openTable(true)
    }
    document.row(this.cells)
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

const sheetsMax = 1000

/** The sheets of a workbook, and whether its days are counted from 1904. */
const readWorkbook = async (
  archive: Archive,
  part: string,
  relationships: ReadonlyMap<string, Relationship>
) => {
  const sheets: Array<{ readonly name: string; readonly part: string }> = []
  let is1904 = false
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      if (name === "workbookPr") is1904 = /^(1|true)$/.test(attribute("date1904") ?? "")
      if (name !== "sheet" || sheets.length >= sheetsMax) return
      const target = relationships.get(attribute("id") ?? "")
      if (target?.type !== "worksheet" || !archive.has(target.target)) return
      sheets.push({ name: attribute("name") ?? "", part: target.target })
    }
  })
  return { sheets, is1904 }
}

const sharedCharactersMax = 100 * 1024 * 1024

/** The texts that cells refer to by their numbers. */
const readSharedStrings = async (archive: Archive, part: string | null): Promise<ReadonlyArray<string>> => {
  const strings: Array<string> = []
  let text = ""
  let characters = 0
  let isText = false
  await readXml(archive, part, {
    // The pronunciation of a Japanese text stands beside it.
    skips: ({ name }) => name === "rPh",
    open: ({ name }) => {
      if (name === "si") text = ""
      else if (name === "t") isText = true
    },
    close: (name) => {
      if (name === "t") isText = false
      else if (name === "si") {
        strings.push(text)
        characters += text.length
        if (characters > sharedCharactersMax) {
          throw new Unreadable("too_large", "The workbook holds more text than can be read.")
        }
      }
    },
    text: (piece) => {
      if (isText && text.length < valueCharactersMax) text += piece.slice(0, valueCharactersMax)
    }
  })
  return strings
}

const stylesMax = 100_000

/** Reads the formats of the numbers in cells of each style. */
const readCellFormats = async (
  archive: Archive,
  part: string | null
): Promise<ReadonlyArray<NumberFormat>> => {
  const formats: Array<NumberFormat> = []
  const codes = new Map<number, NumberFormat>()
  let isCells = false
  await readXml(archive, part, {
    open: ({ attribute, name }) => {
      const id = Number(attribute("numFmtId") ?? 0)
      if (name === "numFmt" && codes.size < stylesMax)
        codes.set(id, formatOfCode(attribute("formatCode") ?? ""))
      else if (name === "cellXfs") isCells = true
      else if (name === "xf" && isCells && formats.length < stylesMax) {
        formats.push(codes.get(id) ?? builtIn.get(id) ?? "number")
      }
    },
    close: (name) => {
      if (name === "cellXfs") isCells = false
    }
  })
  return formats
}

/** The format in which a number in a cell is shown. */
type NumberFormat = "number" | "date" | "time" | "dateTime" | "percent"

const builtIn: ReadonlyMap<number, NumberFormat> = new Map([
  [9, "percent"],
  [10, "percent"],
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, "date"] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map((id) => [id, "time"] as const),
  [22, "dateTime"]
])

/** The meaning of a format code such as `yyyy-mm-dd` or `0.0%`. */
const formatOfCode = (code: string): NumberFormat => {
  // Only the first section counts, and neither what is quoted nor what is in brackets, except elapsed hours.
  const bare = (code.split(";")[0] ?? "")
    .replace(/\[(h+|m+|s+)\]/gi, "$1")
    .replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, "")
    .toLowerCase()
  if (/general/.test(bare)) return "number"
  const hasDay = /[yd]/.test(bare) || /^m+$/.test(bare.trim())
  const hasTime = /[hs]/.test(bare)
  if (hasDay && hasTime) return "dateTime"
  if (hasDay) return "date"
  if (hasTime) return "time"
  return bare.includes("%") ? "percent" : "number"
}

const millisPerDay = 86_400_000

/**
 * Day 0 of the two calendars. The first has a 29th of February 1900, which is why its days before March 1900
 * are off by one.
 */
const epoch1900 = Date.UTC(1899, 11, 30)
const epoch1904 = Date.UTC(1904, 0, 1)

/** The last day of the year 9999. */
const serialMax = 2_958_465

/** A cell's number as text. */
const formatNumber = (raw: string, format: NumberFormat, is1904: boolean): string => {
  const value = Number(raw)
  if (!Number.isFinite(value) || raw.trim() === "") return raw
  if (format === "percent") return `${shortest(value * 100)}%`
  if (format === "number" || value < 0 || value > serialMax) return shortest(value)
  const early = !is1904 && value >= 1 && value < 60 ? 1 : 0
  const millis = Math.round((value + early) * millisPerDay)
  const instant = new Date((is1904 ? epoch1904 : epoch1900) + millis).toISOString()
  const time = instant.slice(11, 19).replace(/:00$/, "")
  if (format === "time")
    return value >= 1 ? `${Math.floor(value) * 24 + Number(time.slice(0, 2))}${time.slice(2)}` : time
  if (format === "date" || millis % millisPerDay === 0) return instant.slice(0, 10)
  return `${instant.slice(0, 10)} ${time}`
}

/** Spreadsheets count with fifteen digits; the rest is noise of binary fractions. */
const shortest = (value: number): string => String(Number(value.toPrecision(15)))
