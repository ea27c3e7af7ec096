// The reading order of a line. A PDF has glyphs in visual order; Hebrew and Arabic are read from right to
// left, and numbers and Latin words in them from left to right. This reverses the Unicode Bidirectional
// Algorithm (UAX #9), as far as possible.

/** A piece of a line in visual order. The text of a piece is in reading order already. */
export interface Cell {
  readonly text: string
  readonly kind: CellKind
}

/**
 * `R` Hebrew and other letters from right to left, `A` Arabic letters, `L` other letters, `1` digits of
 * ASCII, `2` Arabic digits; `,` separates digits, `-` does except among Arabic letters, `$` belongs to a
 * number; `N` anything else.
 */
type CellKind = "R" | "A" | "L" | "1" | "2" | "," | "-" | "$" | "N"

const kinds: ReadonlyArray<readonly [pattern: RegExp, kind: CellKind]> = [
  [/^[\u0660-\u0669\u06f0-\u06f9\u066b\u066c]/, "2"],
  [/^[\u0590-\u05ff\u07c0-\u085f\ufb1d-\ufb4f]/, "R"],
  [/^[\u0608\u060b\u060d\u061b-\u074f\u0750-\u07bf\u0860-\u08ff\ufb50-\ufdff\ufe70-\ufefc]/, "A"],
  [/^[0-9]/, "1"],
  [/^[,./:\u060c\u00a0]/, ","],
  [/^[+\-\u2212]/, "-"],
  [/^[#%\u2030\u00b0\p{Sc}]/u, "$"],
  [/^[\p{L}\p{N}]/u, "L"]
]

export const cellKindOf = (text: string): CellKind =>
  kinds.find(([pattern]) => pattern.test(text))?.[1] ?? "N"

/** True if the text has letters that are read from right to left. */
export const isRightToLeft = (text: string): boolean =>
  /[\u0590-\u065f\u066d-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text)

/** Read from left to right in any line: Latin words with what is between them, and numbers. */
const leftToRight = /L(?:[^RA]*[L12])?|\${0,3}1(?:[,-]?1)*\${0,3}|2(?:,?2)*/g
/** Among Arabic letters, a sign is no part of the number. */
const leftToRightInArabic = /L(?:[^RA]*[L12])?|1(?:,?1)*|2(?:,?2)*/g
/** Runs that are read from right to left in a line from left to right. */
const rightToLeft = /[RA](?:[^L]*[RA])?/g

const brackets = new Map(
  ["()", "[]", "{}", "\u00ab\u00bb", "\u2039\u203a"].flatMap(([open = "", close = ""]) => [
    [open, close],
    [close, open]
  ])
)
const bracket = /[()[\]{}\u00ab\u00bb\u2039\u203a]/g
const openAndClose = /\(\)|\[\]|\{\}|\u00ab\u00bb|\u2039\u203a/g
const closeAndOpen = /\)\(|\]\[|\}\{|\u00bb\u00ab|\u203a\u2039/g

/** Cells in reading order; `isReversed` in a run from right to left. */
type Ordered = ReadonlyArray<Cell & { readonly isReversed: boolean }>

/** The cells of a line, which are given from left to right, in reading order. */
export const readingOrder = (cells: ReadonlyArray<Cell>, isLineRightToLeft: boolean): Ordered =>
  isLineRightToLeft
    ? reversed(cells)
    : splitAt(cells, rightToLeft).flatMap(({ isMatch, part }) => (isMatch ? reversed(part) : kept(part)))

const kept = (cells: ReadonlyArray<Cell>): Ordered => cells.map((cell) => ({ ...cell, isReversed: false }))

const reversed = (cells: ReadonlyArray<Cell>): Ordered => {
  const pattern = cells.some(({ kind }) => kind === "A") ? leftToRightInArabic : leftToRight
  return splitAt(cells, pattern)
    .toReversed()
    .flatMap(({ isMatch, part }) =>
      isMatch ? kept(part) : part.toReversed().map((cell) => ({ ...cell, isReversed: true }))
    )
}

/** The parts of a line that match a pattern of kinds, and those between them. */
const splitAt = (cells: ReadonlyArray<Cell>, pattern: RegExp) => {
  const parts: Array<{ readonly isMatch: boolean; readonly part: ReadonlyArray<Cell> }> = []
  let end = 0
  const kindsOfCells = cells.map(({ kind }) => kind).join("")
  for (const { 0: match, index } of kindsOfCells.matchAll(pattern)) {
    parts.push({ isMatch: false, part: cells.slice(end, index) })
    end = index + match.length
    parts.push({ isMatch: true, part: cells.slice(index, end) })
  }
  return [...parts, { isMatch: false, part: cells.slice(end) }]
}

/**
 * The texts of lines. In a run from right to left some programs write brackets mirrored, others don't; the
 * pairs in all lines tell which.
 */
export const textsOf = (lines: ReadonlyArray<Ordered>): ReadonlyArray<string> => {
  const found = lines
    .map((line) =>
      line.map(({ isReversed, text }) => (isReversed ? text.match(bracket)?.join("") : "")).join("")
    )
    .join("\n")
  const count = (pattern: RegExp): number => found.match(pattern)?.length ?? 0
  const isMirrored = count(closeAndOpen) >= count(openAndClose)
  return lines.map((line) =>
    line
      .map(({ isReversed, text }) =>
        isReversed && isMirrored ? text.replace(bracket, (one) => brackets.get(one) ?? one) : text
      )
      .join("")
  )
}
