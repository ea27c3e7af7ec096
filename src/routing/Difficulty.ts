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

/** What is known of a request before any model has seen it. */
export interface Asked {
  /** What the user says now, without the texts of files. */
  readonly text: string
  /** Estimated tokens of the least prompt. */
  readonly promptTokens: number
  /** Files that are attached. */
  readonly files: number
  /** Passages that were found in a project's files. */
  readonly passages: number
  /** Whether tools are offered. */
  readonly tools: boolean
}

export type FeatureName = "length" | "prompt" | "code" | "mathematics" | "documents" | "tools"

/** One thing that makes a request harder. */
export interface Feature {
  readonly name: FeatureName
  readonly value: number
  /** What it adds to the difficulty. */
  readonly points: number
  /** The same for people. */
  readonly sentence: string
}

/** How good a model a request seems to want. */
export interface Difficulty {
  /** 0 to 1: the sum of the points, and no more than 1. */
  readonly score: number
  readonly features: ReadonlyArray<Feature>
}

/**
 * What each feature can add at most, and the value at which it adds half of that: the first line of code says more than the
 * hundredth. The numbers are set by hand, so that a plain question in any language stays below 0.1, and a page of code or
 * of formulas comes near 0.6. That tools are offered says little, for they mostly are.
 */
const weights: Readonly<Record<FeatureName, { readonly most: number; readonly half: number }>> = {
  length: { most: 0.25, half: 1_500 },
  prompt: { most: 0.15, half: 6_000 },
  code: { most: 0.5, half: 5 },
  mathematics: { most: 0.5, half: 2 },
  documents: { most: 0.25, half: 3 },
  tools: { most: 0.04, half: 1 }
}

/** Passages are short and chosen: so many are as much as one file. */
const passagesPerDocument = 4

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

const feature = (name: FeatureName, value: number, sentence: string): Feature => {
  const { half, most } = weights[name]
  return { name, value, points: (most * value) / (value + half), sentence }
}

/**
 * An estimate of how hard a request is, by signs of its structure that can be named: neither a model nor a list of words is
 * asked. More of any of them never makes it easier. The cost is linear in the length of the text, of which no more than a
 * bounded beginning is looked at.
 */
export const difficultyOf = ({ files, passages, promptTokens, text, tools }: Asked): Difficulty => {
  const { codeLines, mathematics } = signsOf(text)
  const features = [
    feature("length", text.length, `The message has ${counted(text.length, "character")}.`),
    feature("prompt", promptTokens, `The least prompt has about ${counted(promptTokens, "token")}.`),
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
