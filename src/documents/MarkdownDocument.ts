import { MarkdownFlow, TextFull } from "./MarkdownFlow.ts"

/** A table inside of a table's cell, and so on; what is deeper becomes blocks like any others. */
const tableDepthMax = 4

/** A row is for layout if a cell of several blocks is longer than this: its cells become blocks. */
const cellCharactersMax = 1000

/** More cells than this in a row are left out of it. */
const cellsMax = 1024

interface Table {
  readonly outer: MarkdownFlow
  /** A sheet of data: every row is one of the table, whatever it looks like. */
  readonly isData: boolean
  cells: Array<string>
  hasHead: boolean
}

/**
 * A Markdown document with tables. The text of a cell is written to `flow` like any other; a complete row becomes a line of a
 * table, or blocks where the table is for layout.
 */
export class MarkdownDocument {
  private readonly charactersMax: number
  private readonly root: MarkdownFlow
  private readonly tables: Array<Table> = []
  private readonly linkEnds: Array<() => void> = []
  private tooDeep = 0
  private current: MarkdownFlow

  constructor(charactersMax: number) {
    this.charactersMax = charactersMax
    this.root = new MarkdownFlow(charactersMax)
    this.current = this.root
  }

  get flow(): MarkdownFlow {
    return this.current
  }

  /** Where the next block will begin in the text, outside of tables. */
  nextBlockAt(): number {
    return this.root.nextBlockAt()
  }

  heading(level: number): void {
    this.flow.endBlock()
    this.flow.open(`${"#".repeat(Math.min(Math.max(level, 1), 6))} `, "")
  }

  endHeading(): void {
    this.flow.close()
    this.flow.endBlock()
  }

  /** A whole heading or paragraph. */
  block(text: string, headingLevel = 0): void {
    if (headingLevel > 0) this.heading(headingLevel)
    else this.flow.endBlock()
    this.flow.text(text)
    if (headingLevel > 0) this.endHeading()
    else this.flow.endBlock()
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
    if (this.tables.length >= tableDepthMax) {
      this.tooDeep++
      this.flow.endBlock()
      return
    }
    this.flow.endBlock()
    this.tables.push({ outer: this.flow, isData, cells: [], hasHead: false })
  }

  openCell(): void {
    if (this.tooDeep > 0 || this.tables.length === 0) return this.flow.endBlock()
    this.current = new MarkdownFlow(Math.max(0, this.charactersMax - this.root.length))
  }

  closeCell(): void {
    const table = this.tables.at(-1)
    if (this.tooDeep > 0 || table === undefined || this.current === table.outer) return this.flow.endBlock()
    if (table.cells.length < cellsMax) table.cells.push(this.current.toString())
    this.current = table.outer
  }

  /** A whole cell. */
  cell(text: string): void {
    const table = this.tables.at(-1)
    if (table !== undefined && table.cells.length < cellsMax) table.cells.push(text)
  }

  closeRow(): void {
    const table = this.tables.at(-1)
    if (this.tooDeep > 0 || table === undefined) return this.flow.endBlock()
    const { cells } = table
    table.cells = []
    while (cells.at(-1)?.trim() === "") cells.pop()
    if (cells.length === 0) return
    if (!table.isData && isLayout(cells)) {
      table.hasHead = false
      this.blocks(cells)
    } else this.row(table, cells)
  }

  closeTable(): void {
    if (this.tooDeep > 0) {
      this.tooDeep--
      return this.flow.endBlock()
    }
    this.closeRow()
    this.tables.pop()
    this.flow.endBlock()
  }

  /** The text, and what is in cells that were never closed. */
  toString(): string {
    while (this.tables.length > 0) {
      this.closeCell()
      this.closeTable()
    }
    return this.root.toString()
  }

  /** The text as far as whole rows and blocks were written: after TextFull nothing can be added. */
  written(): string {
    return this.root.toString()
  }

  private row(table: Table, cells: ReadonlyArray<string>): void {
    this.flow.endLine()
    this.flow.verbatim(`| ${cells.map(cellText).join(" | ")} |`)
    this.flow.endLine()
    if (table.hasHead) return
    table.hasHead = true
    this.flow.verbatim(`|${" --- |".repeat(cells.length)}`)
    this.flow.endLine()
  }

  private blocks(cells: ReadonlyArray<string>): void {
    for (const cell of cells) {
      this.flow.endBlock()
      this.flow.verbatim(cell)
      this.flow.endBlock()
    }
  }
}

const isLayout = (cells: ReadonlyArray<string>): boolean =>
  cells.length === 1 ||
  cells.some((cell) => cell.includes("\n\n") && (cell.length > cellCharactersMax || /^(#|\|)/m.test(cell)))

const cellText = (cell: string): string => cell.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")

/** Reads into the document until everything is read or no more text is taken. */
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
