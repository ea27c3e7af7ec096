import { Option, Redacted, Schema } from "effect"
import { Anything, findsOf, type SearchProvider, textOf } from "./SearchProvider.ts"

const Result = Schema.Struct({
  url: Schema.String,
  title: Anything,
  content: Anything,
  /** Only news have one. */
  published_date: Anything
})

const decodeAnswer = Schema.decodeUnknownOption(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))

const isUsedUp = "What the key's plan allows is used up."

/** Source: docs.tavily.com, API reference, Search. */
export const tavily: SearchProvider = {
  address: "https://api.tavily.com",
  request: ({ base, key }, query, count) => ({
    url: `${base}/search`,
    json: JSON.stringify({ query, max_results: count, search_depth: "basic" }),
    credentials: key === null ? {} : { authorization: Redacted.make(`Bearer ${Redacted.value(key)}`) }
  }),
  read: (answer) =>
    Option.map(decodeAnswer(answer), ({ results }) =>
      findsOf(results, Result, ({ content, published_date, title, url }) => ({
        url,
        title: textOf(title),
        snippet: textOf(content),
        date: textOf(published_date)
      }))
    ),
  statuses: { 432: isUsedUp, 433: isUsedUp }
}
