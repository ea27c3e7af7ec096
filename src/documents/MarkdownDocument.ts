import { MarkdownFlow, TextFull } from "./MarkdownFlow.ts"

/** Nested tables; deeper ones become blocks. */
const tableDepthMax = 4

/** A row with a longer cell of several blocks is for layout: its cells become blocks. */
const cellCharactersMax = 1000

/** Most cells of a row; further ones are left out. */
const cellsMax = 1024

interface Table {
  readonly outer: MarkdownFlow
  /** A spreadsheet's: no row is for layout. */
  readonly isData: boolean
  /** Nested too deeply: its cells are blocks. */
  readonly isFlat: boolean
  cells: Array<string>
  hasHead: boolean
}

/**
 * A Markdown document with tables. The text of a cell is written to `flow` like any other; a complete row
 * becomes a table row, or blocks where the table is for layout.
 */
export class MarkdownDocument {
  /** The offset in the text at which each page starts. */
  readonly pages: Array<number> = []
  private readonly charactersMax: number
  private readonly root: MarkdownFlow
  private readonly tables: Array<Table> = []
  private readonly linkEnds: Array<() => void> = []
  private current: MarkdownFlow

  constructor(charactersMax: number) {
    this.charactersMax = charactersMax
    this.root = new MarkdownFlow(charactersMax)
    this.current = this.root
  }

  get flow(): MarkdownFlow {
    return this.current
  }

  /** Begins a page, whose start in the text is added to `pages`. */
  beginPage(): void {
    this.flow.endBlock()
    this.pages.push(this.root.nextBlockAt())
  }

  heading(level: number): void {
    this.flow.endBlock()
    this.flow.open(`${"#".repeat(Math.min(Math.max(level, 1), 6))} `, "")
  }

  endHeading(): void {
    this.flow.close()
    this.flow.endBlock()
  }

  /** A whole heading. */
  title(text: string): void {
    this.heading(2)
    this.flow.text(text)
    this.endHeading()
  }

  /** An item of a list, at a level from 0. */
  openItem(marker = "- ", level = 0): void {
    const indent = "  ".repeat(level)
    this.flow.endLine()
    this.flow.open(indent + marker, " ".repeat(indent.length + marker.length))
  }

  closeItem(): void {
    this.flow.close()
    this.flow.endLine()
  }

  /** Text from here to `closeLink` leads to an address of the web or of mail; to no other. */
  openLink(target: string): void {
    const flow = this.flow
    const isLink = /^(https?|mailto):[^\s()]{1,2000}$/.test(target)
    if (isLink) flow.openInline("[")
    this.linkEnds.push(() => isLink && flow.closeInline(`](${target})`))
  }

  closeLink(): void {
    this.linkEnds.pop()?.()
  }

  openTable(isData = false): void {
    this.flow.endBlock()
    const isFlat = this.tables.length >= tableDepthMax
    this.tables.push({ outer: this.flow, isData, isFlat, cells: [], hasHead: false })
  }

  openCell(): void {
    if (this.tables.at(-1)?.isFlat !== false) return this.flow.endBlock()
    this.current = new MarkdownFlow(Math.max(0, this.charactersMax - this.root.length))
  }

  closeCell(): void {
    const table = this.tables.at(-1)
    if (table?.isFlat !== false || this.current === table.outer) return this.flow.endBlock()
    this.cell(this.current.toString())
    this.current = table.outer
  }

  /** A row of whole cells. */
  row(cells: Iterable<string>): void {
    for (const cell of cells) this.cell(cell)
    this.closeRow()
  }

  private cell(text: string): void {
    const table = this.tables.at(-1)
    if (table !== undefined && table.cells.length < cellsMax) table.cells.push(text)
  }

  closeRow(): void {
    const table = this.tables.at(-1)
    if (table?.isFlat !== false) return this.flow.endBlock()
    const { cells } = table
    table.cells = []
    while (cells.at(-1)?.trim() === "") cells.pop()
    if (cells.length === 0) return
    if (!table.isData && isLayout(cells)) {
      table.hasHead = false
      for (const cell of cells) {
        this.flow.endBlock()
        this.flow.verbatim(cell)
        this.flow.endBlock()
      }
    } else this.writeRow(table, cells)
  }

  closeTable(): void {
    this.closeRow()
    this.tables.pop()
    this.flow.endBlock()
  }

  /** The text, with open tables closed. */
  toString(): string {
    while (this.tables.length > 0) {
      this.closeCell()
      this.closeTable()
    }
    return this.root.toString()
  }

  /** The text without open tables: after TextFull nothing can be added. */
  written(): string {
    return this.root.toString()
  }

  /** Ends a table or a part of one, by the name that Office formats have for it. */
  closeTablePart(name: string): void {
    if (name === "tc") this.closeCell()
    else if (name === "tr") this.closeRow()
    else if (name === "tbl") this.closeTable()
  }

  private writeRow(table: Table, cells: ReadonlyArray<string>): void {
    this.flow.endLine()
    this.flow.verbatim(`| ${cells.map(cellText).join(" | ")} |`)
    this.flow.endLine()
    if (table.hasHead) return
    table.hasHead = true
    this.flow.verbatim(`|${" --- |".repeat(cells.length)}`)
    this.flow.endLine()
  }
}

const isLayout = (cells: ReadonlyArray<string>): boolean =>
  cells.length === 1 ||
  cells.some((cell) => cell.includes("\n\n") && (cell.length > cellCharactersMax || /^(#|\|)/m.test(cell)))

const cellText = (cell: string): string => cell.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")

/** Reads into the document until all is read or the text is full. */
export const untilFull = async (
  document: MarkdownDocument,
  read: () => Promise<void>
): Promise<{ readonly text: string; readonly truncated: boolean }> => {
  try {
    await read()
    return { text: document.toString(), truncated: false }
  } catch (error) {
    if (!(error instanceof TextFull)) throw error
    return { text: document.written(), truncated: true }
  }
}
