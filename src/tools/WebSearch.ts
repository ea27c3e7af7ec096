import { AppConfig } from "../settings/AppConfig.ts"
import { Egress } from "./Egress.ts"
import { renderResults, resultsOf } from "./search/ResultList.ts"
import { makeSearchClient } from "./search/SearchClient.ts"
import { defineTool, type Tool, type ToolFailed } from "./Tool.ts"
import { Effect, Schema, Context, Layer } from "effect"

/** The providers refuse longer queries. */
const queryCharactersMax = 400
/** No provider returns more results at once. */
const countMax = 20

const parameters = Schema.Struct({
  query: Schema.String.check(Schema.isPattern(/\S/), Schema.isMaxLength(queryCharactersMax)).annotate({
    description: "What to search for, as one would type it into a search engine"
  }),
  count: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: countMax })).annotate({
      description: "How many results are wanted at most"
    })
  )
})

/** The tool that searches the web; none where no search provider is configured. */
export const webSearch: Effect.Effect<ReadonlyArray<Tool>, never, AppConfig | Egress> = Effect.gen(
  function* () {
    const settings = (yield* AppConfig).tools
    const search = makeSearchClient(settings, yield* Egress)
    if (search === null) return []
    return [
      defineTool({
        name: "web_search",
        description:
          "Searches the web. Gives the title, the address and a piece of the text of each page that was found, and its date " +
          "where that is known; web_fetch reads a whole page.",
        parameters,
        run: ({ count = countMax, query }) => {
          const wanted = Math.min(count, settings.searchResultsMax)
          return Effect.map(search(query.trim(), wanted), ({ finds, host }) => ({
            text: renderResults(query, resultsOf(finds, wanted)),
            host
          }))
        }
      })
    ]
  }
)

const query = "weather"

/** Tries the search provider, for the operator. */
export class SearchProbe extends Context.Service<
  SearchProbe,
  {
    /** The number of results of one search, as a model would make it; null where no provider is configured. */
    readonly search: Effect.Effect<number, ToolFailed> | null
  }
>()("parley/tools/SearchProbe") {
  static readonly layer = Layer.effect(
    SearchProbe,
    Effect.gen(function* () {
      const client = makeSearchClient((yield* AppConfig).tools, yield* Egress)
      const search = client === null ? null : Effect.map(client(query, 1), ({ finds }) => finds.length)
      return SearchProbe.of({ search })
    })
  )
}
