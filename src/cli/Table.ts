import { CliOutput } from "effect/cli"

/** Blanks between two columns. */
const gap = "  "

/** A narrower terminal is written to as if it had so many columns. */
const columnsMin = 20

/** Some texts come from elsewhere, such as the ids of a provider's models; none may steer the terminal. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, "\u{fffd}")

const widthOf = CliOutput.displayWidth

const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** The words of a text in lines of at most that width; a longer word has a line of its own. */
const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(/ +/)) {
    if (line === "") line = word
    else if (widthOf(line) + 1 + widthOf(word) <= width) line += ` ${word}`
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

/** Rows of cells under headings; how they are laid out depends on the terminal. */
export class Table {
  readonly headings: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>

  constructor(headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) {
    this.headings = headings
    this.rows = rows.map((row) => row.map(printable))
  }
}

type Widths = ReadonlyArray<number>

const totalOf = (widths: Widths): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1)

const columnWidths = ({ headings, rows }: Table, measure: (cell: string) => number): Widths =>
  headings.map((heading, column) =>
    Math.max(...[heading, ...rows.map((row) => row[column] ?? "")].map(measure))
  )

const longestWord = (cell: string): number => Math.max(...cell.split(/ +/).map(widthOf))

/** Takes from the widest columns, down to their longest words. Null if that isn't enough. */
const fitted = (natural: Widths, least: Widths, columns: number): Widths | null => {
  if (totalOf(least) > columns) return null
  const widths = natural.map((width) => Math.min(width, columns))
  while (totalOf(widths) > columns) {
    const spare = widths.map((width, column) => (width > (least[column] ?? 0) ? width : 0))
    const widest = spare.indexOf(Math.max(...spare))
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const aligned = ({ headings, rows }: Table, widths: Widths): string => {
  const lineOf = (cells: ReadonlyArray<string>) =>
    cells
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join(gap)
      .trimEnd()
  const linesOf = (row: ReadonlyArray<string>) => {
    const parts = row.map((cell, column) => wrapped(cell, widths[column] ?? 0))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) => lineOf(parts.map((lines) => lines[line] ?? "")))
  }
  return [headings, ...rows].flatMap(linesOf).join("\n")
}

/** One cell a line, for a terminal on which the rows don't fit. */
const asRecords = ({ headings, rows }: Table, columns: number): string => {
  const left = Math.max(...headings.map(widthOf))
  const indent = " ".repeat(left) + gap
  const fieldOf = (heading: string, cell: string) =>
    wrapped(cell, columns - indent.length)
      .map((line, index) => (index === 0 ? padded(heading, left) + gap : indent) + line)
      .join("\n")
      .trimEnd()
  return rows
    .map((row) => headings.map((heading, column) => fieldOf(heading, row[column] ?? "")).join("\n"))
    .join("\n\n")
}

const laidOut = (table: Table, columns: number | null): string => {
  const natural = columnWidths(table, widthOf)
  if (columns === null || totalOf(natural) <= columns) return aligned(table, natural)
  const widths = fitted(natural, columnWidths(table, longestWord), columns)
  return widths === null ? asRecords(table, columns) : aligned(table, widths)
}

/** The text that a person reads: texts and tables, each beginning a line. */
export type Text = string | Table | ReadonlyArray<string | Table>

/** The text with its tables laid out for a terminal of so many columns, or, for null, as wide as they are. */
export const render = (text: Text, width: number | null): string => {
  const columns = width === null ? null : Math.max(width, columnsMin)
  const parts = typeof text === "string" || text instanceof Table ? [text] : text
  return parts.map((part) => (part instanceof Table ? laidOut(part, columns) : part)).join("\n")
}
