import { Array as Arr, Context, Effect, Layer, type Scope, type Stream } from "effect"
import { AppConfig, type Settings } from "../AppConfig.ts"
import type { ModelFailure } from "../domain/Errors.ts"
import type { CallOptions, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import { type ModelHealth, unknownHealth } from "../domain/ModelHealth.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import type { ProviderHealth } from "../domain/ProviderHealth.ts"
import { namesIn } from "../Setting.ts"
import { type CatalogInvalid, readCatalogFile } from "./CatalogFile.ts"
import { type Circuits, makeCircuits } from "./Circuits.ts"
import { keepModelServerList, placeOf } from "./ModelServerList.ts"
import { callOfflineModel, offlineModel } from "./OfflineModel.ts"
import { makeModelCall, type ModelServer } from "./ModelServer.ts"
import { openAiChat } from "./OpenAiChat.ts"
import { ProviderGate } from "./ProviderGate.ts"
import { makeUpstream, type Upstream } from "./Upstream.ts"

/** A model, and the way to call it. */
export interface CatalogEntry {
  readonly model: ModelSpec
  readonly call: (request: ModelRequest, options?: CallOptions) => Stream.Stream<ModelPart, ModelFailure>
}

/** How each model fared lately. */
export type HealthOf = (model: ModelSpec) => ModelHealth

const openAiBaseUrl = "https://api.openai.com/v1"

/** In sentences for people, so many models are named. */
const namedModelsMax = 5

/** Knows which models there are. */
export class ModelCatalog extends Context.Service<
  ModelCatalog,
  {
    /** The models to choose from. Where a server's list could not be read yet, it is asked once more, within bounds. */
    readonly entries: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** The models that are known now; waits for nothing. */
    readonly known: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** How the models fared lately; asks none of their servers. */
    readonly healthOf: Effect.Effect<HealthOf>
    /** How the model servers fared lately; asks none of them. */
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** A sentence for people: what answers, or why nothing does. */
    readonly describe: Effect.Effect<string>
  }
>()("parley/models/ModelCatalog") {
  static readonly layer: Layer.Layer<ModelCatalog, CatalogInvalid, AppConfig> = Layer.effect(
    ModelCatalog,
    Effect.gen(function* () {
      const { models: settings } = yield* AppConfig
      const openAi = openAiServer(settings)
      const unused = unusedModelSettings(settings)
      if (unused !== null) yield* Effect.logWarning(unused)
      if (settings.file !== null) return ModelCatalog.of(yield* fromFile(settings, settings.file))
      return ModelCatalog.of(openAi === null ? offlineOnly : yield* fromServer(settings, openAi))
    })
  )
}

type Catalog = ModelCatalog["Service"]

/** The models never change, so that they need not be sought. */
const fixed = (
  entries: ReadonlyArray<CatalogEntry>,
  description: string,
  gates: ReadonlyArray<ProviderGate>
): Catalog => ({
  entries: Effect.succeed(entries),
  known: Effect.succeed(entries),
  ...healthAt(gates),
  describe: Effect.succeed(description)
})

const healthAt = (gates: ReadonlyArray<ProviderGate>): Pick<Catalog, "health" | "healthOf"> => ({
  health: Effect.forEach(gates, ({ health }) => health),
  healthOf: Effect.map(
    Effect.forEach(gates, ({ modelHealth, provider }) =>
      Effect.map(modelHealth, (of) => [provider, of] as const)
    ),
    (pairs): HealthOf => {
      const byProvider = new Map(pairs)
      return ({ id, provider }) => byProvider.get(provider)?.(id) ?? unknownHealth
    }
  )
})

const offlineOnly: Catalog = fixed(
  [{ model: offlineModel, call: callOfflineModel }],
  `Only the built-in model ${offlineModel.id} answers: a small program that is no language model. ` +
    "Set OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE for a real one.",
  []
)

const gateOf = (settings: Settings["models"], server: ModelServer, circuits: Circuits): ProviderGate =>
  new ProviderGate(
    server.provider,
    {
      concurrentMax: server.concurrentMax ?? settings.concurrentMax,
      queueSeconds: settings.queueSeconds
    },
    circuits
  )

/** Makes the entries of one server's models. */
const entriesAt = (
  upstream: Upstream,
  server: ModelServer,
  gate: ProviderGate,
  { retrySeconds }: Settings["models"]
) => {
  const call = makeModelCall(upstream, server, { gate, retrySeconds })
  return (model: ModelSpec): CatalogEntry => ({ model, call: call(model) })
}

const fromFile = Effect.fnUntraced(function* (settings: Settings["models"], file: string) {
  const { models, servers } = yield* readCatalogFile(file)
  const upstream = yield* makeUpstream(settings)
  const circuits = yield* makeCircuits
  const gates = new Map(servers.map((server) => [server, gateOf(settings, server, circuits)]))
  const makers = new Map(
    Array.from(gates, ([server, gate]) => [server.provider, entriesAt(upstream, server, gate, settings)])
  )
  const entries = models.flatMap((model): ReadonlyArray<CatalogEntry> => {
    const make = makers.get(model.provider)
    return make === undefined ? [] : [make(model)]
  })
  return fixed(entries, `${file} has ${nameModels(models)}.`, [...gates.values()])
})

const fromServer = Effect.fnUntraced(function* (
  settings: Settings["models"],
  server: ModelServer
): Effect.fn.Return<Catalog, never, Scope.Scope> {
  const upstream: Upstream = yield* makeUpstream(settings)
  const list = yield* keepModelServerList(upstream, server, namesIn(settings.openaiModel ?? ""))
  const gate = gateOf(settings, server, yield* makeCircuits)
  const toEntries = Arr.map(entriesAt(upstream, server, gate, settings))
  return {
    entries: Effect.map(list.models, toEntries),
    known: Effect.map(list.known, toEntries),
    ...healthAt([gate]),
    describe: Effect.gen(function* () {
      const problem = yield* list.problem
      const models = yield* list.known
      if (models.length > 0) return `${placeOf(server)} has ${nameModels(models)}.`
      const reason = problem === null ? "it is still being read" : problem
      return `No model answers yet, because the list of models at ${placeOf(server)} is not known: ${reason}.`
    })
  }
})

const nameModels = (models: ReadonlyArray<ModelSpec>): string => {
  const names = models.slice(0, namedModelsMax).map((model) => model.id)
  const more = models.length - names.length
  return `${models.length === 1 ? "the model" : `${models.length} models:`} ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

/** A sentence about settings that have no effect beside the others; null where there are none. */
export const unusedModelSettings = (settings: Settings["models"]): string | null => {
  const isServerNamed = settings.openaiBaseUrl !== null || settings.openaiApiKey !== null
  if (settings.file !== null && (isServerNamed || settings.openaiModel !== null))
    return "PARLEY_MODELS_FILE is set, so OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL are not used."
  return settings.openaiModel === null || isServerNamed
    ? null
    : "OPENAI_MODEL is set, but neither OPENAI_BASE_URL nor OPENAI_API_KEY is, so it is not used."
}

/** The server that the OPENAI_ variables name; null without them. */
const openAiServer = ({ openaiApiKey, openaiBaseUrl }: Settings["models"]): ModelServer | null =>
  openaiBaseUrl === null && openaiApiKey === null
    ? null
    : {
        provider: "openai",
        protocol: openAiChat,
        baseUrl: new URL(openaiBaseUrl ?? openAiBaseUrl),
        key: openaiApiKey,
        tokenParameter: null,
        concurrentMax: null
      }
