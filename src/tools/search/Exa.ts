import { Option, Schema } from "effect"
import { Anything, findsOf, type SearchProvider, textOf } from "./SearchProvider.ts"

/** Of the passages that tell most about the query. */
const highlightCharacters = 600

const Result = Schema.Struct({
  url: Schema.String,
  title: Anything,
  publishedDate: Anything,
  highlights: Anything,
  text: Anything
})

const decodeAnswer = Schema.decodeUnknownOption(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))

const passages = (highlights: unknown): string =>
  Array.isArray(highlights)
    ? highlights
        .map(textOf)
        .filter((text) => text !== "")
        .join(" … ")
    : ""

/** Source: exa.ai/docs/reference, Search. */
export const exa: SearchProvider = {
  address: "https://api.exa.ai",
  request: ({ base, key }, query, count) => ({
    url: `${base}/search`,
    json: JSON.stringify({
      query,
      type: "auto",
      numResults: count,
      contents: { highlights: { maxCharacters: highlightCharacters } }
    }),
    credentials: key === null ? {} : { "x-api-key": key }
  }),
  read: (answer) =>
    Option.map(decodeAnswer(answer), ({ results }) =>
      findsOf(results, Result, ({ highlights, publishedDate, text, title, url }) => ({
        url,
        title: textOf(title),
        snippet: passages(highlights) || textOf(text),
        date: textOf(publishedDate)
      }))
    ),
  statuses: { 402: "What the key's plan allows is used up." }
}
