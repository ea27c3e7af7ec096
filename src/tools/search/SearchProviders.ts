import { Option, Redacted, Schema } from "effect"
import type { Settings } from "../../settings/AppConfig.ts"

/** A provider's result, not yet checked or bounded. */
export interface Find {
  readonly url: string
  readonly title: string
  readonly snippet: string
  /** The time at which the page was published, in any form; "" if unknown. */
  readonly date: string
}

interface SearchRequest {
  readonly url: string
  /** The document to post; without one the request is a GET. */
  readonly json?: string
  readonly credentials: Readonly<Record<string, Redacted.Redacted>>
}

/** The address of the provider, without a slash at its end, and its key. */
export interface SearchAccess {
  readonly base: string
  readonly key: Redacted.Redacted | null
}

/** A service that searches the web. */
export interface SearchProvider {
  /** Its public address; null for a self-hosted one. */
  readonly address: string | null
  readonly request: (access: SearchAccess, query: string, count: number) => SearchRequest
  /** The results, best first; none for a malformed answer. */
  readonly read: (answer: unknown) => Option.Option<ReadonlyArray<Find>>
  /** Why an answer without results is a failure; null where nothing was found. For the log. */
  readonly failure?: (answer: unknown) => string | null
  /** Statuses with a meaning of their own. */
  readonly statuses: Readonly<Record<number, string>>
}

type Found = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const decodeFound = Schema.decodeUnknownOption(
  Schema.StructWithRest(Schema.Struct({ url: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)])
)

/** Every field but the address may be missing, or be anything. */
const findsOf = (
  results: ReadonlyArray<unknown>,
  snippetOf: (found: Found) => string,
  dateOf: (found: Found) => string
): ReadonlyArray<Find> =>
  results.flatMap((result) =>
    Option.match(decodeFound(result), {
      onNone: () => [],
      onSome: (found) => [
        { url: found.url, title: textOf(found["title"]), snippet: snippetOf(found), date: dateOf(found) }
      ]
    })
  )

const Results = Schema.Struct({ results: Schema.Array(Schema.Unknown) })
const decodeResults = Schema.decodeUnknownOption(Results)

const readResults =
  (snippetOf: (found: Found) => string, dateField: string): SearchProvider["read"] =>
  (answer) =>
    Option.map(decodeResults(answer), ({ results }) =>
      findsOf(results, snippetOf, (found) => textOf(found[dateField]))
    )

const contentOf = ({ content }: Found): string => textOf(content)

const keyHeader = (name: string, key: SearchAccess["key"]): SearchRequest["credentials"] =>
  key === null ? {} : { [name]: key }

const decodeSearxngFailure = Schema.decodeUnknownOption(
  Schema.Struct({ ...Results.fields, unresponsive_engines: Schema.Array(Schema.Unknown) })
)
const reasonCharactersMax = 300

/** A self-hosted metasearch engine; it has no limit of results. Source: docs.searxng.org, Search API. */
const searxng: SearchProvider = {
  address: null,
  request: ({ base }, query) => ({
    url: `${base}/search?${new URLSearchParams({ q: query, format: "json" }).toString()}`,
    credentials: {}
  }),
  read: readResults(contentOf, "publishedDate"),
  failure: (answer) =>
    Option.match(decodeSearxngFailure(answer), {
      onNone: () => null,
      // Each is a pair: the engine, and what is wrong with it.
      onSome: ({ results, unresponsive_engines: engines }) =>
        results.length === 0 && engines.length > 0
          ? JSON.stringify(engines).slice(0, reasonCharactersMax)
          : null
    }),
  statuses: {
    403: 'It doesn\'t answer in JSON: "json" is missing from search.formats in its settings.yml.'
  }
}

/** Brave refuses a query with more words. */
const braveWordsMax = 50

const decodeBraveAnswer = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.Literal("search"),
    // Left out where nothing was found.
    web: Schema.optionalKey(Schema.NullOr(Results))
  })
)

/** Source: api-dashboard.search.brave.com, Web Search API. */
const brave: SearchProvider = {
  address: "https://api.search.brave.com",
  request: ({ base, key }, query, count) => {
    const parameters = new URLSearchParams({
      q: query.trim().split(/\s+/).slice(0, braveWordsMax).join(" "),
      count: String(count),
      result_filter: "web",
      text_decorations: "false"
    })
    return {
      url: `${base}/res/v1/web/search?${parameters.toString()}`,
      credentials: keyHeader("x-subscription-token", key)
    }
  },
  read: (answer) =>
    Option.map(decodeBraveAnswer(answer), ({ web }) =>
      findsOf(
        web?.results ?? [],
        ({ description }) => textOf(description),
        // A moment in ISO 8601, or words such as "3 days ago".
        ({ age, page_age }) => textOf(page_age) || textOf(age)
      )
    ),
  statuses: { 422: "It does not accept the key, or not this query." }
}

const planUsedUp = "What the key's plan allows is used up."

/** Source: docs.tavily.com, API reference, Search. */
const tavily: SearchProvider = {
  address: "https://api.tavily.com",
  request: ({ base, key }, query, count) => ({
    url: `${base}/search`,
    json: JSON.stringify({ query, max_results: count, search_depth: "basic" }),
    credentials: keyHeader(
      "authorization",
      key === null ? null : Redacted.make(`Bearer ${Redacted.value(key)}`)
    )
  }),
  // Only news have a date.
  read: readResults(contentOf, "published_date"),
  statuses: { 432: planUsedUp, 433: planUsedUp }
}

/** Length of the passages that match the query best. */
const exaHighlightCharacters = 600

/** Source: exa.ai/docs/reference, Search. */
const exa: SearchProvider = {
  address: "https://api.exa.ai",
  request: ({ base, key }, query, count) => ({
    url: `${base}/search`,
    json: JSON.stringify({
      query,
      type: "auto",
      numResults: count,
      contents: { highlights: { maxCharacters: exaHighlightCharacters } }
    }),
    credentials: keyHeader("x-api-key", key)
  }),
  read: readResults(({ highlights, text }) => {
    const passages = Array.isArray(highlights) ? highlights.map(textOf).filter(Boolean) : []
    return passages.join(" … ") || textOf(text)
  }, "publishedDate"),
  statuses: { 402: planUsedUp }
}

export const searchProviders: Readonly<
  Record<NonNullable<Settings["tools"]["searchProvider"]>, SearchProvider>
> = { searxng, brave, tavily, exa }
