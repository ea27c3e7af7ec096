import { Option, Schema } from "effect"
import { Anything, findsOf, type SearchProvider, textOf } from "./SearchProvider.ts"

const Result = Schema.Struct({
  url: Schema.String,
  title: Anything,
  content: Anything,
  publishedDate: Anything
})

const decodeAnswer = Schema.decodeUnknownOption(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))

const decodeFailure = Schema.decodeUnknownOption(
  Schema.Struct({
    results: Schema.Array(Schema.Unknown),
    unresponsive_engines: Schema.Array(Schema.Unknown)
  })
)

const reasonCharactersMax = 300

/**
 * A server of one's own that asks many search engines. It can't be told how many results to send. Source:
 * docs.searxng.org, Search API.
 */
export const searxng: SearchProvider = {
  address: null,
  request: ({ base }, query) => ({
    url: `${base}/search?${new URLSearchParams({ q: query, format: "json" }).toString()}`,
    credentials: {}
  }),
  read: (answer) =>
    Option.map(decodeAnswer(answer), ({ results }) =>
      findsOf(results, Result, ({ content, publishedDate, title, url }) => ({
        url,
        title: textOf(title),
        snippet: textOf(content),
        date: textOf(publishedDate)
      }))
    ),
  failure: (answer) => {
    const failed = Option.filter(
      decodeFailure(answer),
      ({ results, unresponsive_engines: engines }) => results.length === 0 && engines.length > 0
    )
    // Each is a pair: the engine, and what is wrong with it.
    return Option.match(failed, {
      onNone: () => null,
      onSome: ({ unresponsive_engines: engines }) => JSON.stringify(engines).slice(0, reasonCharactersMax)
    })
  },
  statuses: {
    403: 'It doesn\'t answer in JSON: "json" is missing from search.formats in its settings.yml.'
  }
}
