import { Context, Effect, Layer } from "effect"
import { AppConfig } from "../../settings/AppConfig.ts"
import { Egress } from "../Egress.ts"
import type { ToolFailed } from "../Tool.ts"
import { makeSearchClient } from "./SearchClient.ts"

/** Has results in every language and at every provider. */
const query = "weather"

/** Asks the search provider for the operator. */
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
