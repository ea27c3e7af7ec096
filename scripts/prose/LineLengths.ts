import type { Comment } from "./Comments.ts"

/** The longest line of a comment or page, in characters. */
const lineLengthMax = 110

/** The targets of links can't be broken. */
const withoutLinks = (line: string): string => line.replaceAll(/\]\([^)\s]*\)|https?:\/\/\S+/g, "]")

const isLong = (line: string): boolean => withoutLinks(line).length > lineLengthMax

/**
 * The numbers of the lines of a comment that are too long. A directive of the linter is one line, however
 * long.
 */
export const longLinesOfComment = ({ line, lines }: Comment): ReadonlyArray<number> =>
  lines.flatMap((text, index) => (isLong(text) && !text.includes("oxlint-disable") ? [line + index] : []))

/**
 * The numbers of the lines of a page that are too long. Tables, blocks of code and HTML comments may be of
 * any width.
 */
export const longLinesOfPage = (text: string): ReadonlyArray<number> => {
  const long: Array<number> = []
  let isCode = false
  let isHidden = false
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode
    if (line.includes("<!--")) isHidden = true
    if (!isCode && !isHidden && !/^\s*\|/.test(line) && isLong(line)) long.push(index + 1)
    if (line.includes("-->")) isHidden = false
  }
  return long
}
