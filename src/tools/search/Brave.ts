import { Option, Schema } from "effect"
import { Anything, findsOf, type SearchProvider, textOf } from "./SearchProvider.ts"

/** A query with more words is refused. */
const wordsMax = 50

const Result = Schema.Struct({
  url: Schema.String,
  title: Anything,
  description: Anything,
  /** A moment in ISO 8601. */
  page_age: Anything,
  /** The same in words, such as "3 days ago". */
  age: Anything
})

const decodeAnswer = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.Literal("search"),
    // Left out where nothing was found.
    web: Schema.optionalKey(Schema.NullOr(Schema.Struct({ results: Schema.Array(Schema.Unknown) })))
  })
)

const words = (query: string): string => query.trim().split(/\s+/).slice(0, wordsMax).join(" ")

/** Source: api-dashboard.search.brave.com, Web Search API. */
export const brave: SearchProvider = {
  address: "https://api.search.brave.com",
  request: ({ base, key }, query, count) => {
    const asked = new URLSearchParams({
      q: words(query),
      count: String(count),
      result_filter: "web",
      text_decorations: "false"
    })
    return {
      url: `${base}/res/v1/web/search?${asked.toString()}`,
      credentials: key === null ? {} : { "x-subscription-token": key }
    }
  },
  read: (answer) =>
    Option.map(decodeAnswer(answer), ({ web }) =>
      findsOf(web?.results ?? [], Result, ({ age, description, page_age, title, url }) => ({
        url,
        title: textOf(title),
        snippet: textOf(description),
        date: textOf(page_age) || textOf(age)
      }))
    ),
  statuses: { 422: "It does not accept the key, or not this query." }
}
