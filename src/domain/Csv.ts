/** A cell that begins like this would be computed by a spreadsheet. Source: OWASP, CSV Injection. */
const formula = /^[\t\r\n ]*[=+\-@|%\uFF1D\uFF0B\uFF0D\uFF20]/

const needsQuotes = /[",\r\n\t;']|^ | $/

const cellText = (cell: string | number | boolean | null): string => {
  if (cell === null) return ""
  if (typeof cell !== "string") return String(cell)
  const plain = formula.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

type Row = ReadonlyArray<string | number | boolean | null>

/**
 * Lines of a table as CSV. No text of a user becomes a formula of the spreadsheet that opens it. Source:
 * RFC 4180.
 */
export const csvLines = (rows: ReadonlyArray<Row>): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")

/** A whole table as CSV, with a heading first. */
export const csvOf = (heading: ReadonlyArray<string>, rows: ReadonlyArray<Row>): string =>
  csvLines([heading, ...rows])
