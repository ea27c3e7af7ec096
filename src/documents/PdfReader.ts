import { getDocumentProxy, getResolvedPDFJS } from "unpdf"
import { type PdfLine, textsWithHeadings } from "./PdfHeadings.ts"
import { storableForm, type Reading, type ReadingLimits, Unreadable } from "./Reading.ts"
import { type Cell, isRightToLeft, cellKindOf, readingOrder, textsOf } from "./VisualOrder.ts"

const mediaType = "application/pdf"

const pageSeparator = "\n\n"

/** Reads a PDF page by page. */
export const readPdf = async (bytes: Buffer, limits: ReadingLimits): Promise<Reading> => {
  const { normalizeUnicode } = await getResolvedPDFJS()
  const document = await openDocument(bytes)
  const pages: Array<ReadonlyArray<PdfLine>> = []
  let characters = 0
  let damaged = 0
  const count = Math.min(document.numPages, limits.pagesMax)
  for (let number = 1; number <= count && characters <= limits.textBytesMax; number++) {
    let lines: ReadonlyArray<PdfLine> = []
    try {
      const page = await document.getPage(number)
      // Ligatures are taken apart when their letters are in reading order.
      const content = await page.getTextContent({ disableNormalization: true })
      const items = content.items.filter((item) => "str" in item)
      lines = linesOfPage(items.map((item) => ({ ...item, str: plainLetters(normalizeUnicode(item.str)) })))
      page.cleanup()
    } catch {
      damaged++
    }
    pages.push(lines)
    for (const { text } of lines) characters += text.length + 1
  }
  if (damaged === pages.length) throw corrupt()
  const truncated = pages.length < document.numPages
  return { ...joined(textsWithHeadings(pages).map(tidy)), mediaType, truncated }
}

/** The text of all pages, and where each of them begins. */
const joined = (texts: ReadonlyArray<string>): Pick<Reading, "text" | "pages"> => {
  const pages: Array<number> = []
  let text = ""
  for (const page of texts) {
    if (page !== "" && text !== "") text += pageSeparator
    pages.push(text.length)
    text += page
  }
  return { text, pages }
}

const tidy = (text: string): string =>
  storableForm(
    text
      .replace(/[^\S\n]+\n/g, "\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()
  )

const corrupt = () => new Unreadable("corrupt", "The PDF is damaged and can't be read.")

const openDocument = async (bytes: Buffer) => {
  try {
    return await getDocumentProxy(plainBytes(bytes), {
      // Nothing of the document is run or drawn, and nothing is fetched for it.
      disableFontFace: true,
      useSystemFonts: false,
      useWorkerFetch: false,
      useWasm: false,
      enableXfa: false,
      verbosity: 0
    })
  } catch (error) {
    if (error instanceof Error && error.name === "PasswordException") {
      throw new Unreadable("encrypted", "The PDF is protected by a password.")
    }
    throw corrupt()
  }
}

/** pdf.js takes no Buffer and keeps its input: it gets the memory itself, unless that is shared. */
const plainBytes = (bytes: Buffer): Uint8Array =>
  bytes.buffer.byteLength === bytes.length ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes)

/** Presentation forms of letters: fonts name their glyphs by them. */
const forms = /[\ufb1d-\ufdff\ufe70-\ufefc\u2f00-\u2fd5]+/g

/**
 * The ideographs of the CJK Radicals Supplement from U+2E80 on (EquivalentUnifiedIdeograph.txt of Unicode
 * 15); a blank is none.
 */
const radicals = Array.from(
  "　厂乛乚乙亻冂𠘨刀刂卜㔾小小兀尣尢𡯂巳幺彑𫜹忄心扌攵　旡日月歺母民氵氺灬爫爫丬牛犭王𤴔目示礻𥫗糹纟罓罒㓁冗𦉫羊𦍌𦍋耂肀聿肉𦥑艹艹艹虎衤覀西见角𧢲讠贝𧾷车辶辶辶邑钅長镸长门𨸏阝雨青韦页风飞食𩙿飠饣𩠐马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)
const radicalsStart = 0x2e80
const noRadical = "\u3000"

/** No Arabic word has alef twice: the letters of a lam-alef ligature are in the wrong order here. */
const turnedLamAlef = /\u0627([\u0622\u0623\u0625\u0627])\u0644/g

/**
 * Replaces presentation forms and radicals by the letters that are meant. The text is a piece of a line, in
 * reading order.
 */
const plainLetters = (text: string): string =>
  text
    // A lone vowel sign's form is compatible with a space and the sign.
    .replace(forms, (found) => found.normalize("NFKC").replace(/ (?=\p{M})/gu, ""))
    .replace(/[\u2e80-\u2ef3]/g, (radical) => {
      const ideograph = radicals[radical.charCodeAt(0) - radicalsStart]
      return ideograph === undefined || ideograph === noRadical ? radical : ideograph
    })
    .replace(turnedLamAlef, "\u0627\u0644$1")

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

/** Distances in heights of letters: between lines of different paragraphs, and between words of a line. */
const [paragraphGap, wordGap] = [2, 0.1]

/** The lines of a page, with an empty one between paragraphs. */
export const linesOfPage = (items: ReadonlyArray<TextItem>): ReadonlyArray<PdfLine> => {
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
  return lines.map((line) => ({
    text: read.get(line) ?? line.map(({ str }) => str).join(""),
    height: heightOf(line)
  }))
}

/** The height of most of the letters of a line. */
const heightOf = (line: Line): number => {
  const [longest] = line.toSorted((one, other) => other.str.length - one.str.length)
  return longest?.height ?? 0
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

/** True if an upright line has text that is read from right to left. */
const hasRightToLeft = (line: Line): boolean =>
  line.some(({ str }) => isRightToLeft(str)) &&
  line.every(({ transform: [across = 0, up = 0] }) => across > 0 && up === 0)

/** The part of the letters that is read from right to left. */
const rightToLeftPart = (items: ReadonlyArray<TextItem>): number => {
  const letters = items.flatMap(({ str }) => str.match(/\p{L}/gu) ?? [])
  return letters.filter(isRightToLeft).length / Math.max(1, letters.length)
}

/** True if the line is read from right to left, by the side where it ends, or else by most of the page. */
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

/** The cells of a line, from left to right. */
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

/**
 * The items of a line, each with the marks before it: a mark is drawn before its letter, at the same
 * position.
 */
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
  // Marks without a letter come last.
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
