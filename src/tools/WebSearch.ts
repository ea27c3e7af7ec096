import { Effect, Schema, Context, Layer, DateTime, Duration, Option } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { Egress, type EgressFailed, type EgressRefused } from "./Egress.ts"
import type { EgressAnswer, EgressOptions } from "./egress/Hop.ts"
import {
  type Find,
  type SearchAccess,
  type SearchProvider,
  searchProviders
} from "./search/SearchProviders.ts"
import { defineTool, type Tool, ToolFailed } from "./Tool.ts"

/** The providers refuse longer queries. */
const queryCharactersMax = 400
/** Most results of one search; no provider returns more. */
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

/**
 * Loaded with the first search: the reader of HTML makes its tables of characters at once
 * (docs/decisions/speed.md).
 */
const resultList = Effect.promise(() => import("./search/ResultList.ts"))

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
          return Effect.zipWith(search(query.trim(), wanted), resultList, ({ finds, host }, list) => ({
            text: list.renderResults(query, list.resultsOf(finds, wanted)),
            host
          }))
        }
      })
    ]
  }
)

/** Tests the search provider, for the operator. */
export class SearchProbe extends Context.Service<
  SearchProbe,
  {
    /**
     * The number of results of one search, as a model would make it; null where no provider is configured.
     */
    readonly search: Effect.Effect<number, ToolFailed> | null
  }
>()("parley/tools/SearchProbe") {
  static readonly layer = Layer.effect(
    SearchProbe,
    Effect.gen(function* () {
      const client = makeSearchClient((yield* AppConfig).tools, yield* Egress)
      const search = client === null ? null : Effect.map(client("weather", 1), ({ finds }) => finds.length)
      return SearchProbe.of({ search })
    })
  )
}

/** Twenty results have some hundred KiB. */
const answerBytesMax = 2 * 1024 * 1024

/** A rate-limited request is retried once, if the Retry-After is no longer than this. */
const retryAfterSecondsMax = 3
/** Wait before the retry of a rate-limited request without a Retry-After. */
const retryAfterSecondsUsual = 1
/** Wait before the second attempt after a failed connection. */
const reconnectMillis = 250

const tooManyRequests = 429

interface SearchAnswer {
  readonly finds: ReadonlyArray<Find>
  readonly host: string
}

type SearchClient = (query: string, count: number) => Effect.Effect<SearchAnswer, ToolFailed>

/** A client of the provider that the settings name; null where they name none. */
const makeSearchClient = (settings: Settings["tools"], egress: Egress["Service"]): SearchClient | null => {
  const { searchKey, searchProvider, searchSeconds, searchUrl } = settings
  const provider = searchProvider === null ? null : searchProviders[searchProvider]
  const address = provider === null ? null : (searchUrl ?? provider.address)
  if (provider === null || address === null) return null
  const access: SearchAccess = { base: baseOf(address), key: searchKey }
  const { hostname: host, origin } = new URL(access.base)

  const send = (query: string, count: number) => {
    const { credentials, json, url } = provider.request(access, query, count)
    const options: EgressOptions = {
      headers: { accept: "application/json" },
      credentials,
      bytesMax: answerBytesMax,
      seconds: searchSeconds,
      isConfigured: true,
      // Only the operator's own address may be private: neither a provider's public name, nor any result.
      ...(searchUrl === null ? {} : { trustedOrigin: origin })
    }
    return json === undefined ? egress.get(url, options) : egress.postJson(url, json, options)
  }

  const fail = (message: string) => new ToolFailed({ message, host })
  const slow = () => fail(`The search provider did not answer within ${searchSeconds} seconds.`)
  const failureOf = (error: EgressRefused | EgressFailed): ToolFailed => {
    if (isConnectionFault(error)) return fail("The search provider can't be reached at the moment.")
    return error._tag === "EgressFailed" && error.reason === "slow"
      ? slow()
      : fail("The search provider's answer can't be read.")
  }

  return Effect.fnUntraced(function* (query, count) {
    const ask = send(query, count)
    const answer = yield* ask.pipe(
      Effect.catchIf(isConnectionFault, () => Effect.delay(ask, Duration.millis(reconnectMillis))),
      Effect.flatMap((first) => askAgain(first, ask)),
      Effect.mapError(failureOf),
      Effect.timeoutOrElse({ duration: Duration.seconds(searchSeconds), orElse: () => Effect.fail(slow()) })
    )
    if (answer.status !== 200) {
      const reason = statusMessage(provider, answer.status)
      yield* Effect.logWarning("The search provider refuses to answer.").pipe(
        Effect.annotateLogs({ host, status: answer.status, reason })
      )
      return yield* fail(`The search provider refuses to answer (HTTP ${answer.status}). ${reason}`)
    }
    if (answer.isCut) return yield* fail("The search provider's answer is too long to be read.")
    const found = parseJson(decoder.decode(answer.bytes))
    const reason = Option.isSome(found) ? provider.failure?.(found.value) : null
    if (reason != null) {
      yield* Effect.logWarning("The search provider could not search.").pipe(
        Effect.annotateLogs({ host, reason })
      )
      return yield* fail("The search provider could not search: none of its search engines answered.")
    }
    const read = Option.flatMap(found, provider.read)
    if (Option.isNone(read)) return yield* fail("The search provider's answer can't be understood.")
    return { finds: read.value, host }
  })
}

/** `localhost` is this machine, whatever a name server says. */
const baseOf = (address: string): string =>
  address.replace(/\/+$/, "").replace(/^(https?:\/\/)localhost(?=[:/]|$)/i, "$1127.0.0.1")

const decoder = new TextDecoder()
const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The connection failed or broke. An address that is not allowed looks the same. */
const isConnectionFault = (error: EgressRefused | EgressFailed) =>
  error._tag === "EgressRefused" || error.reason === "cut"

/** Asks again after a 429, if the wait is short enough. */
const askAgain = <E>(first: EgressAnswer, ask: Effect.Effect<EgressAnswer, E>) =>
  first.status !== tooManyRequests
    ? Effect.succeed(first)
    : Effect.flatMap(secondsToWait(first.headers["retry-after"]?.trim() ?? ""), (seconds) =>
        seconds > retryAfterSecondsMax
          ? Effect.succeed(first)
          : Effect.delay(ask, Duration.seconds(Math.max(0, seconds)))
      )

/** Reads a Retry-After, which holds seconds or a date. */
const secondsToWait = Effect.fnUntraced(function* (text: string) {
  if (/^\d+$/.test(text)) return Number(text)
  const now = yield* DateTime.now
  return Option.match(text === "" ? Option.none() : DateTime.make(text), {
    onNone: () => retryAfterSecondsUsual,
    onSome: (moment) => Duration.toSeconds(DateTime.distance(now, moment))
  })
})

const statusMessage = ({ statuses }: SearchProvider, status: number): string => {
  const own = statuses[status]
  if (own !== undefined) return own
  if (status === 401 || status === 403) return "It does not accept the key."
  if (status === tooManyRequests) return "It received too many requests; try again later."
  return status >= 500 ? "It has an internal error." : "It does not accept the request."
}
