/** From where to where a text is code: the first character, and the one behind the last. */
export type CodeRange = readonly [start: number, end: number]

/** A line that begins or ends a block of code; what stands behind the marks names the language. */
const fence = /^[ \t]*(`{3,}|~{3,})(.*)$/

/** Marks of inline code; those behind a backslash are text. */
const backticks = /\\`|`+/g

/** The inline code of a paragraph: between two runs of as many backticks. */
const inlineRanges = (paragraph: string, offset: number): ReadonlyArray<CodeRange> => {
  const runs = [...paragraph.matchAll(backticks)].filter(([run]) => run.startsWith("`"))
  const ranges: Array<CodeRange> = []
  // Of these lengths no further run comes, so that none is looked for again.
  const exhausted = new Set<number>()
  for (let i = 0; i < runs.length; i++) {
    const length = runs[i]?.[0].length ?? 0
    if (exhausted.has(length)) continue
    let end = i + 1
    while (end < runs.length && runs[end]?.[0].length !== length) end++
    if (end === runs.length) {
      exhausted.add(length)
      continue
    }
    ranges.push([offset + (runs[i]?.index ?? 0), offset + (runs[end]?.index ?? 0) + length])
    i = end
  }
  return ranges
}

/**
 * The code in a Markdown text, in order: blocks between fences, of which the last may still be open, and inline code. Source:
 * CommonMark, sections 4.5 and 6.1.
 */
export const codeRanges = (text: string): ReadonlyArray<CodeRange> => {
  const ranges: Array<CodeRange> = []
  let paragraph = 0
  let open: { readonly marks: string; readonly start: number } | null = null
  const endParagraph = (end: number) => {
    ranges.push(...inlineRanges(text.slice(paragraph, end), paragraph))
  }
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at)
    const end = newline < 0 ? text.length : newline
    const line = text.slice(at, end)
    const [, marks = "", info = ""] = fence.exec(line) ?? []
    if (open !== null) {
      if (marks.startsWith(open.marks) && info.trim() === "") {
        ranges.push([open.start, end])
        open = null
        paragraph = end
      }
    } else if (marks !== "" && !(marks.startsWith("`") && info.includes("`"))) {
      endParagraph(at)
      open = { marks, start: at }
    } else if (line.trim() === "") {
      endParagraph(at)
      paragraph = end
    }
    at = end + 1
  }
  if (open === null) endParagraph(text.length)
  else ranges.push([open.start, text.length])
  return ranges
}
