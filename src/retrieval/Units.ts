/** The headings and the table header above a place. */
export interface Outline {
  /** Outermost first. */
  readonly headings: ReadonlyArray<string>
  /** The first row of the table that the place is in, unless it is that row; null outside of tables. */
  readonly tableHeader: string | null
}

/** The form of a text, known besides its words. */
export interface TextForm {
  /** The starts of the pages; null without pages. */
  readonly pages: ReadonlyArray<number> | null
  /** True if each line is a row of one table, the first line its header. */
  readonly isTable: boolean
}

/** The smallest piece of a text that isn't cut, with the spaces behind it. */
export interface Unit {
  readonly start: number
  readonly end: number
  /** The largest part of the text that begins with the unit. */
  readonly boundary: "page" | "section" | "block" | "sentence" | "line" | "word"
  /** True if the unit is a heading, or a part of one. */
  readonly isHeading: boolean
  readonly outline: Outline
  /** Its characters, wide ones counted twice. */
  readonly weight: number
}

/** Longer sentences and lines are cut between words. */
const unitCharactersMax = 400
/** Code and tables up to this length stay whole. */
const wholeCharactersMax = 1_200
/** Characters kept of a heading in an outline, and the most headings in an outline. */
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

/** A heading with its level. */
type Level = readonly [level: number, title: string]

/**
 * All of the text in pieces that follow each other without a gap. The text is Markdown, or may look like it.
 */
export function* unitsOf(text: string, { isTable, pages }: TextForm): Generator<Unit, void> {
  let levels: ReadonlyArray<Level> = []
  let outline: Outline = { headings: [], tableHeader: null }
  let page = 0
  for (const { end, kind, start } of blocksOf(text, isTable)) {
    // A long block is read piece by piece, so that it keeps no other fiber waiting.
    const hasWide = end - start > blockCharactersRead || wide.test(text.slice(start, end))
    const weigh = (from: number, to: number): number => (hasWide ? weightOf(text.slice(from, to)) : to - from)
    if (kind === "heading") {
      levels = below(levels, text.slice(start, end))
      outline = { headings: levels.map(([, title]) => title), tableHeader: null }
    }
    const inTable = kind === "table" ? { ...outline, tableHeader: headerOf(text.slice(start, end)) } : outline
    const firstRow = start + Math.max(0, text.slice(start, end).search(/\S/))
    // Pages begin with a block.
    const before = page
    while (page < (pages?.length ?? 0) && (pages?.[page] ?? 0) <= start) page++
    const first = page > before && start > 0 ? "page" : kind === "heading" ? "section" : "block"
    for (const piece of piecesOf(text, kind, start, end, weigh)) {
      const isFirst = piece.start === start
      yield {
        start: piece.start,
        end: piece.end,
        boundary: isFirst ? first : piece.boundary,
        isHeading: kind === "heading",
        outline: piece.start <= firstRow ? outline : inTable,
        weight: weigh(piece.start, piece.end)
      }
    }
  }
}

/** A wider header is cut: it stands in front of each part of its table. */
const headerCharactersMax = 400

/** The first row of a table, without the line below it. */
const headerOf = (table: string): string => {
  const [row = ""] = /\S[^\n]*/.exec(table) ?? []
  return row.trimEnd().slice(0, headerCharactersMax).toWellFormed()
}

const below = (levels: ReadonlyArray<Level>, line: string): ReadonlyArray<Level> => {
  const [, marks = "#", title = ""] = heading.exec(line.trimEnd()) ?? []
  const kept = title.slice(0, headingCharactersMax).toWellFormed()
  const above = levels.filter(([level]) => level < marks.length).slice(0, headingLevelsMax - 1)
  return kept === "" ? above : [...above, [marks.length, kept]]
}

/** Paragraphs, list items, tables, code and headings; the blank lines behind a block belong to it. */
function* blocksOf(text: string, isTable: boolean): Generator<Block, void> {
  if (isTable) {
    if (text.length > 0) yield { kind: "table", start: 0, end: text.length }
    return
  }
  let block: Block = { kind: "text", start: 0, end: 0 }
  // The next line of the same kind continues the block while this is true.
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
const blockCharactersRead = 16_384

/** A part of the text from `start` (inclusive) to `end` (exclusive). */
interface Span {
  readonly start: number
  readonly end: number
}

interface Piece extends Span {
  readonly boundary: "sentence" | "line" | "word"
}

const sentenceEnd = /[.!?…]+["'”’)\]]*\s+|[。！？；]+[”’」』）]*\s*|\n\s*/g
const lineEnd = /\n\s*/g

function* piecesOf(
  text: string,
  kind: Block["kind"],
  start: number,
  end: number,
  weigh: (start: number, end: number) => number
): Generator<Piece, void> {
  const isWhole = kind === "heading" || kind === "code" || kind === "table"
  if (isWhole && end - start <= wholeCharactersMax && weigh(start, end) <= wholeCharactersMax) {
    yield { start, end, boundary: "line" }
    return
  }
  let boundary: Piece["boundary"] = "line"
  let from = start
  function* cut(to: number): Generator<Piece, void> {
    for (const one of wordsOf(text, from, to, weigh)) {
      yield { ...one, boundary: one.start === from ? boundary : "word" }
    }
  }
  for (const found of text.slice(start, end).matchAll(kind === "text" ? sentenceEnd : lineEnd)) {
    const to = start + found.index + found[0].length
    yield* cut(to)
    from = to
    boundary = found[0].startsWith("\n") ? "line" : "sentence"
  }
  if (from < end) yield* cut(end)
}

/** Cuts what is too long between words, or anywhere but inside of a character if there are no words. */
function* wordsOf(
  text: string,
  start: number,
  end: number,
  weigh: (start: number, end: number) => number
): Generator<Span, void> {
  let from = start
  while (end - from > unitCharactersMax || weigh(from, end) > unitCharactersMax) {
    const piece = text.slice(from, Math.min(end, from + unitCharactersMax))
    const room = weigh(from, from + piece.length) > unitCharactersMax ? unitCharactersMax / 2 : piece.length
    const space = lastSpace(piece.slice(0, room))
    const length = space > 0 ? space : room - (isHighSurrogate(piece, room - 1) ? 1 : 0)
    yield { start: from, end: from + length }
    from += length
  }
  if (from < end) yield { start: from, end }
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
