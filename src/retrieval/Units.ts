/** The headings above a place, outermost first. */
export type Outline = ReadonlyArray<string>

/** The smallest piece of a text that isn't cut, with the spaces behind it. */
export interface Unit {
  readonly start: number
  readonly end: number
  /** What begins with the unit. */
  readonly boundary: "section" | "block" | "sentence" | "line" | "word"
  readonly outline: Outline
  /** Its characters, wide ones counted twice. */
  readonly weight: number
}

/** Longer sentences and lines are cut between words. */
const unitCharactersMax = 400
/** Code and tables up to this length stay whole. */
const wholeCharactersMax = 1_200
/** Of a heading, what is kept as the way to a passage; and how deep the way may be. */
const headingCharactersMax = 200
const headingLevelsMax = 6

interface Block {
  readonly kind: "heading" | "code" | "table" | "text"
  readonly start: number
  end: number
}

const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/
const fence = /^ {0,3}(`{3,}|~{3,})/
const listItem = /^\s{0,12}(?:[-*+•]|\d{1,4}[.)])\s/
const tableRow = /^\s{0,3}\|/

/** All of the text in pieces that follow each other without a gap. The text is Markdown, or may look like it. */
export function* unitsOf(text: string): Generator<Unit, void> {
  const hasWide = wide.test(text)
  const weigh = (start: number, end: number): number =>
    hasWide ? weightOf(text.slice(start, end)) : end - start
  let outline: Outline = []
  for (const { end, kind, start } of blocksOf(text)) {
    if (kind === "heading") outline = below(outline, text.slice(start, end))
    const first = kind === "heading" ? "section" : "block"
    for (const piece of piecesOf(text, kind, start, end, weigh)) {
      yield {
        start: piece.start,
        end: piece.end,
        boundary: piece.start === start ? first : piece.boundary,
        outline,
        weight: weigh(piece.start, piece.end)
      }
    }
  }
}

const below = (outline: Outline, line: string): Outline => {
  const [, marks = "#", title = ""] = heading.exec(line.trimEnd()) ?? []
  const level = Math.min(marks.length, headingLevelsMax)
  const kept = title.slice(0, headingCharactersMax).toWellFormed()
  return [...outline.slice(0, level - 1), ...(kept === "" ? [] : [kept])]
}

/** Paragraphs, list items, tables, code and headings; the blank lines behind a block belong to it. */
function* blocksOf(text: string): Generator<Block, void> {
  let block: Block = { kind: "text", start: 0, end: 0 }
  // Whether the next line of the same kind goes on with the block.
  let isOpen = true
  let fenceMark: string | null = null
  for (let start = 0; start < text.length; start = block.end) {
    const newline = text.indexOf("\n", start)
    const end = newline === -1 ? text.length : newline + 1
    // Marks stand at the start of a line; a long line is read no further than that.
    const line = text.slice(start, Math.min(end, start + lineCharactersRead)).trimEnd()
    const mark = fence.exec(line)?.[1] ?? null
    const kind = kindOf(line, mark)
    if (fenceMark !== null) {
      if (mark?.startsWith(fenceMark) === true) fenceMark = null
      isOpen = fenceMark !== null
    } else if (kind === "blank") {
      isOpen = false
    } else if (!(isOpen && kind === block.kind) || listItem.test(line)) {
      if (block.end > block.start) yield block
      block = { kind, start, end }
      isOpen = kind !== "heading"
      fenceMark = mark
    }
    block.end = end
  }
  if (block.end > block.start) yield block
}

const kindOf = (line: string, fenceMark: string | null): Block["kind"] | "blank" => {
  if (fenceMark !== null) return "code"
  if (line.trim() === "") return "blank"
  if (heading.test(line)) return "heading"
  return tableRow.test(line) ? "table" : "text"
}

const lineCharactersRead = 1_000

/** From `start` (inclusive) to `end` (exclusive). */
interface Span {
  readonly start: number
  readonly end: number
}

interface Piece extends Span {
  readonly boundary: "sentence" | "line" | "word"
}

const sentenceEnd = /[.!?…]+["'”’)\]]*\s+|[。！？；]+[”’」』）]*\s*|\n\s*/g
const lineEnd = /\n\s*/g

const piecesOf = (
  text: string,
  kind: Block["kind"],
  start: number,
  end: number,
  weigh: (start: number, end: number) => number
): ReadonlyArray<Piece> => {
  const isWhole = kind === "heading" || kind === "code" || kind === "table"
  if (isWhole && weigh(start, end) <= wholeCharactersMax) return [{ start, end, boundary: "line" }]
  const pieces: Array<Piece> = []
  let boundary: Piece["boundary"] = "line"
  let from = start
  const add = (to: number) => {
    for (const cut of wordsOf(text, from, to, weigh)) {
      pieces.push({ ...cut, boundary: cut.start === from ? boundary : "word" })
    }
    from = to
  }
  for (const found of text.slice(start, end).matchAll(kind === "text" ? sentenceEnd : lineEnd)) {
    add(start + found.index + found[0].length)
    boundary = found[0].startsWith("\n") ? "line" : "sentence"
  }
  if (from < end) add(end)
  return pieces
}

/** Cuts what is too long between words, or anywhere but inside of a character if there are no words. */
const wordsOf = (
  text: string,
  start: number,
  end: number,
  weigh: (start: number, end: number) => number
): ReadonlyArray<Span> => {
  const cuts: Array<Span> = []
  let from = start
  while (end - from > unitCharactersMax || weigh(from, end) > unitCharactersMax) {
    const piece = text.slice(from, Math.min(end, from + unitCharactersMax))
    const room = weigh(from, from + piece.length) > unitCharactersMax ? unitCharactersMax / 2 : piece.length
    const space = lastSpace(piece.slice(0, room))
    const length = space > 0 ? space : room - (isHighSurrogate(piece, room - 1) ? 1 : 0)
    cuts.push({ start: from, end: from + length })
    from += length
  }
  if (from < end) cuts.push({ start: from, end })
  return cuts
}

/** Behind the last space of the piece; 0 when there is none. */
const lastSpace = (piece: string): number => piece.search(/\s\S*$/) + 1

const isHighSurrogate = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xd800 && unit <= 0xdbff
}

/** Scripts in which one character says as much as a syllable or a word. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
const everyWide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu

const weightOf = (piece: string): number => {
  let weight = piece.length
  for (const [character] of piece.matchAll(everyWide)) weight += 2 - character.length
  return weight
}
