/** Characters of a text that are read: what follows tells little more. */
export const charactersMax = 20_000

/**
 * A line is code with at least so many signs that prose seldom has, and at least one of them in so many
 * characters.
 */
const charactersPerCodeSign = 6
const codeSignsMin = 3

/** Signs that a name such as `isOpen` or `is_open` counts for. */
const nameSigns = 2

/** Lines of code that a line of a stack trace counts for. */
const stackFrameLines = 3

const latexSigns = 2

/** The structure of a text in any language. Adding lines never lowers a count. */
interface TextSigns {
  /** Lines of code, in fences or by their signs, and of stack traces. */
  readonly codeLines: number
  /** Operators between numbers, signs of mathematics and LaTeX commands, outside fences. */
  readonly mathematics: number
}

const fence = /^(?:```|~~~)/
const stackFrame =
  /^(?:at .{1,200}:\d|File ".{1,200}", line \d|Traceback \(most|Caused by: |Exception in thread)/
const codeSign = /[{}()[\];=<>&$@\\`]/g
const codeName = /(?:\w_(?=\w)|[a-z][A-Z])\w*/g
/** The end of a statement, or of the heading of a block. */
const codeEnd = /[;{}:]$/

const latexCommand = /\\[a-zA-Z]/g
/** `-` and `/` follow a blank, or they would be those of dates and ranges. */
const mathematicalSign =
  /[∫∑∏√∂∞≤≥≠≈∈∉∀∃∇⊂⊆∪∩⇒⇔±×÷]|(?:[\d)]\s*[+*=<>]|[\d)]\s+[-/]|[\w)]\s*\^)\s*(?=[\d(\\])/gu

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

const mathematicsIn = (line: string): number =>
  count(line, mathematicalSign) + latexSigns * count(line, latexCommand)

const isCode = (line: string): boolean => {
  const signs = count(line, codeSign) + nameSigns * count(line, codeName) + (codeEnd.test(line) ? 1 : 0)
  return signs >= codeSignsMin && signs * charactersPerCodeSign >= line.length
}

/** The work is linear in the length of the text. */
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

/** The facts about a request before a model is chosen. */
export interface Asked {
  /** The latest user message, without the texts of files. */
  readonly text: string
  /** Estimated tokens of the shortest prompt. */
  readonly promptTokens: number
  readonly files: number
  /** Passages from the files of a project. */
  readonly passages: number
  /** True if tools are offered. */
  readonly tools: boolean
}

export type FeatureName = "length" | "prompt" | "code" | "mathematics" | "documents" | "tools"

/** One thing that makes a request harder. */
interface Feature {
  readonly name: FeatureName
  readonly value: number
  readonly points: number
  /** The feature in words. */
  readonly sentence: string
}

interface Difficulty {
  /** The sum of the points, at most 1: the quality that a model should have. */
  readonly score: number
  readonly features: ReadonlyArray<Feature>
}

/**
 * The most that a feature adds, and the value at which it adds half of that. Set by hand: a plain question in
 * any language stays below 0.1, and a page of code or formulas comes near 0.6. Tools say little, because most
 * requests offer some.
 */
const weights: Readonly<Record<FeatureName, { readonly most: number; readonly half: number }>> = {
  length: { most: 0.25, half: 1_500 },
  prompt: { most: 0.15, half: 6_000 },
  code: { most: 0.5, half: 5 },
  mathematics: { most: 0.5, half: 2 },
  documents: { most: 0.25, half: 3 },
  tools: { most: 0.04, half: 1 }
}

/** Passages that count as one file. */
const passagesPerDocument = 4

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

const feature = (name: FeatureName, value: number, sentence: string): Feature => {
  const { half, most } = weights[name]
  return { name, value, points: (most * value) / (value + half), sentence }
}

/**
 * Estimates how hard a request is by its structure, without a model or a list of words. More of a feature
 * never lowers it.
 */
export const difficultyOf = ({ files, passages, promptTokens, text, tools }: Asked): Difficulty => {
  const { codeLines, mathematics } = signsOf(text)
  const features = [
    feature("length", text.length, `The message has ${counted(text.length, "character")}.`),
    feature("prompt", promptTokens, `The shortest prompt has about ${counted(promptTokens, "token")}.`),
    feature("code", codeLines, `Code worth ${counted(codeLines, "line")}.`),
    feature("mathematics", mathematics, `${counted(mathematics, "sign")} of mathematics.`),
    feature(
      "documents",
      files + passages / passagesPerDocument,
      `${counted(files, "file")} and ${counted(passages, "passage")} of a project.`
    ),
    feature("tools", tools ? 1 : 0, tools ? "Tools are offered." : "No tools are offered.")
  ]
  let points = 0
  for (const one of features) points += one.points
  return { score: Math.min(1, points), features }
}
