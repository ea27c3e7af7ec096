import { Effect, Option, Schema } from "effect"
import type { Fault } from "../providers/Fault.ts"
import type { ListedSpec } from "./ModelList.ts"
import { endpointOf, type ModelServer } from "../providers/ModelServer.ts"
import type { Endpoint, Upstream } from "../providers/Upstream.ts"

/** So many models are asked for one by one, and so many at once; of the others the limits are assumed. */
const askedModelsMax = 50
const askedAtOnce = 4

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

/** What llama.cpp was started with. Source: tools/server/README.md, GET /props. */
const Props = Schema.fromJsonString(
  Schema.Struct({ default_generation_settings: Schema.Struct({ n_ctx: PositiveInt }) })
)

/** One model of Ollama. Source: docs/api.md, POST /api/show. */
const Shown = Schema.fromJsonString(
  Schema.Struct({
    parameters: Schema.optionalKey(Schema.Unknown),
    model_info: Schema.Record(Schema.String, Schema.Unknown)
  })
)

const decodeProps = Schema.decodeUnknownEffect(Props)
const decodeShown = Schema.decodeUnknownEffect(Shown)
const isCount = Schema.is(PositiveInt)

/** Both have their own interface beside the one of OpenAI, which is found under /v1. */
const ownEndpoint = (server: ModelServer, path: string): Endpoint => ({
  ...endpointOf(server, ""),
  path: server.baseUrl.pathname.replace(/\/v1\/*$/, "").replace(/\/+$/, "") + path
})

/** The window that a model of Ollama has: as its file sets it, or else what it was trained for. */
const windowOf = ({ model_info, parameters }: typeof Shown.Type): number | null => {
  const set = typeof parameters === "string" ? /^\s*num_ctx\s+(\d+)\s*$/m.exec(parameters)?.[1] : undefined
  const trained = Object.entries(model_info).find(([name]) => name.endsWith(".context_length"))?.[1]
  const window = set === undefined ? trained : Number(set)
  return isCount(window) ? window : null
}

/**
 * Completes a list by what servers tell elsewhere: llama.cpp of the window that it was started with, Ollama of each model.
 * Whatever a server doesn't tell stays unknown.
 */
export const completeLimits = Effect.fnUntraced(function* (
  upstream: Upstream,
  server: ModelServer,
  list: ReadonlyArray<ListedSpec>
): Effect.fn.Return<ReadonlyArray<ListedSpec>> {
  const unknown = list.filter(({ contextWindow, isTrained }) => contextWindow === null || isTrained)
  const [first, ...others] = unknown.slice(0, askedModelsMax)
  if (first === undefined || server.baseUrl.hostname === "api.openai.com") return list
  const started = yield* upstream
    .ask(ownEndpoint(server, "/props"))
    .pipe(Effect.flatMap(decodeProps), Effect.option)
  if (Option.isSome(started)) {
    const { n_ctx } = started.value.default_generation_settings
    return list.map((model) => (unknown.includes(model) ? { ...model, contextWindow: n_ctx } : model))
  }
  const show = ({
    id
  }: ListedSpec): Effect.Effect<readonly [string, number | null], Fault | Schema.SchemaError> =>
    Effect.map(
      Effect.flatMap(
        upstream.ask(ownEndpoint(server, "/api/show"), JSON.stringify({ model: id })),
        decodeShown
      ),
      (shown) => [id, windowOf(shown)]
    )
  // Whoever doesn't show the first one is no Ollama.
  const shown = yield* Effect.option(show(first))
  if (Option.isNone(shown)) return list
  const more = yield* Effect.forEach(others, (model) => Effect.option(show(model)), {
    concurrency: askedAtOnce
  })
  const windows = new Map([shown, ...more].flatMap(Option.toArray))
  return list.map((model) => ({ ...model, contextWindow: windows.get(model.id) ?? model.contextWindow }))
})
