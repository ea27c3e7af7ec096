import { lineOf, type Source, visit } from "../architecture/Source.ts"

/** A doc comment, a comment beside code, or one block of line comments on lines of their own. */
export interface Comment {
  /** The comment's first line; the first of the file is 1. */
  readonly line: number
  /** The whole lines on which the comment stands, with the code before it. */
  readonly lines: ReadonlyArray<string>
  /** The comment itself with its slashes. */
  readonly text: string
}

/** Start and end of each literal: two slashes inside of one begin no comment. */
const literalsOf = (source: Source): ReadonlyArray<readonly [start: number, end: number]> => {
  const ranges: Array<readonly [number, number]> = []
  visit(source.program, ({ end, start, type }) => {
    if (/^(Literal|TemplateElement|JSXText)$/.test(type)) ranges.push([start, end])
  })
  return ranges.toSorted(([one], [other]) => one - other)
}

const isLineComment = ({ lines: [first = ""] }: Comment): boolean => first.trimStart().startsWith("//")

const continues = (last: Comment | undefined, next: Comment): last is Comment =>
  last !== undefined &&
  isLineComment(last) &&
  isLineComment(next) &&
  last.line + last.lines.length === next.line

const commentPattern = /\/\/.*|\/\*[\s\S]*?\*\//g

/** All comments of a file in their order. */
export const commentsOf = (source: Source): ReadonlyArray<Comment> => {
  const literals = literalsOf(source)
  const comments: Array<Comment> = []
  let literal = 0
  commentPattern.lastIndex = 0
  for (
    let found = commentPattern.exec(source.text);
    found !== null;
    found = commentPattern.exec(source.text)
  ) {
    const { index } = found
    while ((literals[literal]?.[1] ?? Infinity) <= index) literal++
    const [start, end] = literals[literal] ?? [Infinity, Infinity]
    if (start <= index) {
      commentPattern.lastIndex = end
      continue
    }
    const before = source.text.slice(source.text.lastIndexOf("\n", index) + 1, index)
    const next = { line: lineOf(source, index), lines: `${before}${found[0]}`.split("\n"), text: found[0] }
    const last = comments.at(-1)
    if (!continues(last, next)) comments.push(next)
    else {
      comments[comments.length - 1] = {
        ...last,
        lines: [...last.lines, ...next.lines],
        text: `${last.text}\n${next.text}`
      }
    }
  }
  return comments
}

/** True for a comment whose first word continues a sentence that stands somewhere else. */
export const isFragment = ({ text }: Comment): boolean =>
  /^[/*\s]*(of|what|for|where|as|by|those|whether|how)\b/i.test(text)
