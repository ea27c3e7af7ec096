/** Characters of a text that are looked at: what comes later tells little more, and a look must stay cheap. */
export const charactersMax = 20_000

/** A line is code where one character in so many, or more, is a sign that prose seldom has, and there are so many. */
const charactersPerCodeSign = 6
const codeSignsMin = 3

/** A name such as `isOpen` or `is_open` counts for so many signs. */
const nameSigns = 2

/** A line of a stack trace says more than a line of code. */
const stackFrameLines = 3

const latexSigns = 2

/** What can be seen of the structure of a text, in any language. Each only grows when lines are added. */
export interface TextSigns {
  /** Lines of code, in fences or by their signs, and of stack traces. */
  readonly codeLines: number
  /** Operators between numbers, signs of mathematics and commands of LaTeX, but for those in fences. */
  readonly mathematics: number
}

const fence = /^(?:```|~~~)/
const stackFrame =
  /^(?:at .{1,200}:\d|File ".{1,200}", line \d|Traceback \(most|Caused by: |Exception in thread)/
const codeSign = /[{}()[\];=<>&$@\\`]/g
const codeName = /(?:\w_(?=\w)|[a-z][A-Z])\w*/g
/** Statements end with these, and headings of blocks with a colon. */
const codeEnd = /[;{}:]$/

const latexCommand = /\\[a-zA-Z]/g
/** `-` and `/` have a blank before them, or they would be those of dates and ranges. */
const mathematicalSign =
  /[∫∑∏√∂∞≤≥≠≈∈∉∀∃∇⊂⊆∪∩⇒⇔±×÷]|(?:[\d)]\s*[+*=<>]|[\d)]\s+[-/]|[\w)]\s*\^)\s*(?=[\d(\\])/gu

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

const mathematicsIn = (line: string): number =>
  count(line, mathematicalSign) + latexSigns * count(line, latexCommand)

const isCode = (line: string): boolean => {
  const signs = count(line, codeSign) + nameSigns * count(line, codeName) + (codeEnd.test(line) ? 1 : 0)
  return signs >= codeSignsMin && signs * charactersPerCodeSign >= line.length
}

/** The signs of the beginning of a text. The work is linear in its length, whatever it holds. */
export const signsOf = (text: string): TextSigns => {
  let codeLines = 0
  let mathematics = 0
  let opened: string | undefined
  for (const line of text.slice(0, charactersMax).split("\n")) {
    const trimmed = line.trim()
    const mark = fence.exec(trimmed)?.[0]
    if (mark !== undefined && (opened === undefined || opened === mark)) {
      opened = opened === undefined ? mark : undefined
      continue
    }
    if (opened === undefined) mathematics += mathematicsIn(trimmed)
    if (stackFrame.test(trimmed)) codeLines += stackFrameLines
    else if (trimmed !== "" && (opened !== undefined || isCode(trimmed))) codeLines++
  }
  return { codeLines, mathematics }
}
