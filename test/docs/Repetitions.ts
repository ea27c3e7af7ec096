import MarkdownIt from "markdown-it"
import type { Place } from "./Documents.ts"

const parser = new MarkdownIt({ html: true })

/** Shorter sentences, such as "The first version.", may well be right at two places. */
const sentenceCharactersMin = 40

/** Shorter rows, such as those of two yes-or-no columns, may recur in another table. */
const rowCharactersMin = 20

type Token = ReturnType<typeof parser.parse>[number]

/** Headings by their path, such as `## 0.1.0 > ### Added`. */
const headings = (tokens: ReadonlyArray<Token>): ReadonlyArray<Place> => {
  const path: Array<string> = []
  return tokens.flatMap((token, index) => {
    if (token.type !== "heading_open") return []
    path.length = Number(token.tag.slice(1)) - 1
    path.push(`${token.markup} ${tokens[index + 1]?.content ?? ""}`)
    return [{ text: path.join(" > "), line: (token.map?.[0] ?? 0) + 1 }]
  })
}

/** Rows of tables, without the rows that head them. */
const rows = (tokens: ReadonlyArray<Token>): ReadonlyArray<Place> =>
  tokens.flatMap((token, index) => {
    if (token.type !== "tr_open" || token.map === null) return []
    const cells = tokens.slice(
      index,
      tokens.findIndex(({ type }, at) => at > index && type === "tr_close")
    )
    if (cells.some(({ type }) => type === "th_open")) return []
    const text = `| ${cells.flatMap(({ content, type }) => (type === "inline" ? [content] : [])).join(" | ")} |`
    return text.length < rowCharactersMin ? [] : [{ text, line: token.map[0] + 1 }]
  })

/** Rows that head a table and stand again within it: another table was pasted below. */
const heads = (tokens: ReadonlyArray<Token>): ReadonlyArray<Place> => {
  let head = ""
  return tokens.flatMap((token, index) => {
    const line = (token.map?.[0] ?? 0) + 1
    const first = tokens[index + 2]?.content ?? ""
    if (token.type !== "tr_open") return []
    if (tokens[index + 1]?.type === "th_open") {
      head = first
      return []
    }
    return first === head ? [{ text: `the heading row of the table, ${head}`, line }] : []
  })
}

/** True for the sentence that settings with values of the same kind share (docs/settings.md). */
const isValues = (text: string): boolean => text.startsWith("Allowed: ")

/** Sentences of paragraphs and points. */
const sentences = (tokens: ReadonlyArray<Token>): ReadonlyArray<Place> =>
  tokens.flatMap((token, index) => {
    if (token.type !== "inline" || tokens[index - 1]?.type !== "paragraph_open") return []
    const line = (token.map?.[0] ?? 0) + 1
    return token.content
      .replaceAll(/\s+/g, " ")
      .split(/(?<=\.) /)
      .filter((text) => text.length >= sentenceCharactersMin && !isValues(text))
      .map((text) => ({ text, line }))
  })

const again = (places: ReadonlyArray<Place>): ReadonlyArray<Place> => {
  const seen = new Set<string>()
  return places.filter(({ text }) => seen.size === seen.add(text).size)
}

/** The headings, rows of tables and sentences that a page has for the second time. */
export const repetitionsIn = (source: string): ReadonlyArray<Place> => {
  const tokens = parser.parse(source, {})
  return [...heads(tokens), ...[headings, rows, sentences].flatMap((places) => again(places(tokens)))]
}
