import { type Cell, isRightToLeft, cellKindOf, readingOrder, textsOf } from "./VisualOrder.ts"

/** A piece of a page's text, as pdf.js finds it. */
export interface TextItem {
  readonly str: string
  readonly dir: string
  readonly hasEOL: boolean
  readonly width: number
  readonly height: number
  readonly transform: ReadonlyArray<number>
}

type Line = ReadonlyArray<TextItem>

/** Lines that are further apart than this many times the height of their letters belong to different paragraphs. */
const paragraphGap = 2

/** Pieces of a line that are further apart than this many times the height of their letters have a space between them. */
const wordGap = 0.1

/** The lines of a page, with an empty one between paragraphs. */
export const joinItems = (items: ReadonlyArray<TextItem>): string => {
  const lines = linesOf(items)
  const turned = lines.filter(hasRightToLeft)
  const pagePart = rightToLeftPart(items)
  const texts = textsOf(
    turned.map((line) => {
      const cells = cellsOf(line)
      return readingOrder(cells, isReadFromRight(cells, rightToLeftPart(line), pagePart))
    })
  )
  const read = new Map(turned.map((line, at) => [line, (texts[at] ?? "").replace(/ {2,}/g, " ")]))
  return lines
    .map((line) => read.get(line) ?? line.map(({ str }) => str).join(""))
    .join("\n")
    .replace(/[^\S\n]+\n/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()
}

const linesOf = (items: ReadonlyArray<TextItem>): ReadonlyArray<Line> => {
  const lines: Array<Array<TextItem>> = [[]]
  let last: TextItem | null = null
  for (const item of items) {
    if (item.str !== "") {
      if (last !== null && item.transform[5] !== last.transform[5] && isApart(last, item)) lines.push([])
      last = item
    }
    lines.at(-1)?.push(item)
    if (item.hasEOL) lines.push([])
  }
  return lines
}

const isApart = (line: TextItem, next: TextItem): boolean => {
  const distance = (line.transform[5] ?? 0) - (next.transform[5] ?? 0)
  return distance > Math.max(line.height, next.height) * paragraphGap
}

/** A line that is neither turned nor upside down, in which something is read from right to left. */
const hasRightToLeft = (line: Line): boolean =>
  line.some(({ str }) => isRightToLeft(str)) &&
  line.every(({ transform: [across = 0, up = 0] }) => across > 0 && up === 0)

/** How much of the letters is read from right to left. */
const rightToLeftPart = (items: ReadonlyArray<TextItem>): number => {
  let letters = 0
  let rightToLeft = 0
  for (const { str } of items) {
    for (const [letter] of str.matchAll(/\p{L}/gu)) {
      letters++
      if (isRightToLeft(letter)) rightToLeft++
    }
  }
  return rightToLeft / Math.max(1, letters)
}

/** Whether the line as a whole is read from right to left: where it ends tells, or else what most of the page is like. */
const isReadFromRight = (cells: ReadonlyArray<Cell>, linePart: number, pagePart: number): boolean => {
  const [endsLeft, endsRight] = [cells[0], cells.at(-1)].map((cell) =>
    /^[.!?:;,\u060c\u061b\u061f\u06d4]/.test(cell?.text ?? "")
  )
  return linePart === 1 || (endsLeft === endsRight ? linePart > 1 - pagePart : endsLeft === true)
}

interface Piece {
  readonly left: number
  readonly right: number
  readonly height: number
  readonly cells: ReadonlyArray<Cell>
}

/** What is seen in a line, from left to right. */
const cellsOf = (line: Line): ReadonlyArray<Cell> => {
  const cells: Array<Cell> = []
  let end = Number.POSITIVE_INFINITY
  for (const piece of piecesOf(line).toSorted((one, other) => one.left - other.left)) {
    if (piece.left - end > piece.height * wordGap) cells.push({ text: " ", kind: "N" })
    end = Math.max(cells.length === 0 ? piece.right : end, piece.right)
    for (const cell of piece.cells) cells.push(cell)
  }
  return cells
}

/** The items of a line, each with the marks before it: a mark is drawn before its letter, and as far to the left. */
const piecesOf = (line: Line): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let marks: Array<Cell> = []
  for (const { dir, height, str, transform, width } of line) {
    // pdf.js makes up spaces, which have no height, in the order of the items.
    if (str === "" || (height === 0 && str.trim() === "")) continue
    if (/^\s*\p{M}+$/u.test(str)) {
      for (const text of str.trim()) marks.push({ text, kind: cellKindOf(text) })
      continue
    }
    const left = transform[4] ?? 0
    pieces.push({ left, right: left + width, height, cells: [...marks, ...cellsOfText(str, dir)] })
    marks = []
  }
  // Without a letter, they stand where the line ends.
  if (marks.length > 0) pieces.push({ left: Infinity, right: Infinity, height: 0, cells: marks })
  return pieces
}

const cellsOfText = (text: string, direction: string): ReadonlyArray<Cell> => {
  // pdf.js has put what is in one item into reading order.
  if (direction === "rtl" && !/^\p{Nd}+$/u.test(text)) {
    return [{ text, kind: /[\u0600-\u07bf\u0860-\u08ff\ufb50-\ufefc]/.test(text) ? "A" : "R" }]
  }
  if (isRightToLeft(text) && cellKindOf(text) === "L") return [{ text, kind: "L" }]
  return Array.from(text.matchAll(/\P{M}\p{M}*/gu), ([cell]) => ({ text: cell, kind: cellKindOf(cell) }))
}
