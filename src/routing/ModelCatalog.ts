import { Array as Arr, Context, Effect, Layer, type Scope, type Stream } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import type { ModelFailure } from "../domain/Errors.ts"
import type { CallOptions, ModelPart, ModelRequest } from "../domain/ModelCall.ts"
import { type ModelHealth, unknownHealth, type ProviderHealth, type ModelSpec } from "../domain/Model.ts"
import { namesIn } from "../settings/TextCodec.ts"
import { type CatalogInvalid, readCatalogFile } from "./CatalogFile.ts"
import { makeProviderCircuits, type ProviderCircuits } from "../providers/ProviderCircuit.ts"
import { callDemoModel, demoModel } from "../providers/DemoModel.ts"
import { keepModelServerList, type ListState, placeOf } from "./ModelServerList.ts"
import type { ModelServer } from "../providers/ModelServer.ts"
import { makeServerCall } from "../providers/ServerCall.ts"
import { openAiChat } from "../providers/OpenAiChat.ts"
import { ProviderGate } from "../providers/ProviderGate.ts"
import { probeServer, type ServerProbe } from "./ServerProbe.ts"
import { makeUpstream, type Upstream } from "../providers/Upstream.ts"

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
    /** Asks each model server now, within bounds. */
    readonly probe: Effect.Effect<ReadonlyArray<ServerProbe>>
    /** Whether no model is known because a server refuses what the settings say, such as the key. */
    readonly isRefused: Effect.Effect<boolean>
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
      return ModelCatalog.of(openAi === null ? demoOnly : yield* fromServer(settings, openAi))
    })
  )
}

type Catalog = ModelCatalog["Service"]

/** The models never change, so that they need not be sought. */
const fixed = (
  entries: ReadonlyArray<CatalogEntry>,
  description: string,
  gates: ReadonlyArray<ProviderGate> = [],
  probe: Catalog["probe"] = Effect.succeed([])
): Catalog => ({
  entries: Effect.succeed(entries),
  known: Effect.succeed(entries),
  ...healthAt(gates),
  probe,
  isRefused: Effect.succeed(false),
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

const demoOnly: Catalog = fixed(
  [{ model: demoModel, call: callDemoModel }],
  `Only the built-in demo model ${demoModel.id} answers: a small program that is no language model. ` +
    "Set OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE for a real one."
)

const gateOf = (
  settings: Settings["models"],
  server: ModelServer,
  circuits: ProviderCircuits
): ProviderGate =>
  new ProviderGate(
    server.provider,
    {
      concurrentMax: server.concurrentMax ?? settings.concurrentMax,
      queueSeconds: settings.queueSeconds
    },
    circuits
  )

/** So many servers are asked at once how they are. */
const probedAtOnce = 8

/** One server with all that is needed to call its models. */
const lineOf = (
  upstream: Upstream,
  server: ModelServer,
  gate: ProviderGate,
  { retrySeconds }: Settings["models"]
) => {
  const call = makeServerCall(upstream, server, { gate, retrySeconds })
  return {
    gate,
    entry: (model: ModelSpec): CatalogEntry => ({ model, call: call(model) }),
    probe: (models: ReadonlyArray<ModelSpec>) =>
      probeServer(upstream, server, makeServerCall(upstream, server, { gate, retrySeconds: 0 }), models)
  }
}

const fromFile = Effect.fnUntraced(function* (settings: Settings["models"], file: string) {
  const { models, servers } = yield* readCatalogFile(file)
  const upstream = yield* makeUpstream(settings)
  const circuits = yield* makeProviderCircuits
  const lines = new Map(
    servers.map((server) => [
      server.provider,
      lineOf(upstream, server, gateOf(settings, server, circuits), settings)
    ])
  )
  const entries = models.flatMap((model): ReadonlyArray<CatalogEntry> => {
    const line = lines.get(model.provider)
    return line === undefined ? [] : [line.entry(model)]
  })
  const description = `${file} names ${nameModels(models)}. \`parley doctor\` asks whether they answer.`
  return fixed(
    entries,
    description,
    Array.from(lines.values(), ({ gate }) => gate),
    Effect.forEach(
      lines,
      ([provider, line]) => line.probe(models.filter((model) => model.provider === provider)),
      { concurrency: probedAtOnce }
    )
  )
})

const fromServer = Effect.fnUntraced(function* (
  settings: Settings["models"],
  server: ModelServer
): Effect.fn.Return<Catalog, never, Scope.Scope> {
  const upstream: Upstream = yield* makeUpstream(settings)
  const names = namesIn(settings.openaiModel ?? "")
  const list = yield* keepModelServerList(upstream, server, names)
  const line = lineOf(upstream, server, gateOf(settings, server, yield* makeProviderCircuits), settings)
  const toEntries = Arr.map(line.entry)
  return {
    entries: Effect.map(list.models, toEntries),
    known: Effect.map(list.known, toEntries),
    ...healthAt([line.gate]),
    health: Effect.zipWith(line.gate.health, list.state, (health, state) => [withList(health, state)]),
    probe: Effect.map(
      Effect.flatMap(list.known, (known) => line.probe(names.length > 0 ? known : [])),
      Arr.of
    ),
    isRefused: Effect.zipWith(
      list.state,
      list.known,
      ({ isRefused }, known) => isRefused && known.length === 0
    ),
    describe: Effect.zipWith(list.firstState, list.known, (state, known) =>
      describeServer(placeOf(server), state, known)
    )
  }
})

/** What the list of models shows, as long as no request has shown more. */
const withList = (health: ProviderHealth, { isRead, problem }: ListState): ProviderHealth => {
  if (health.state !== "unknown") return health
  if (problem !== null) return { ...health, state: "failing", failure: `list of models: ${problem}` }
  return isRead ? { ...health, state: "ok" } : health
}

const describeServer = (
  place: string,
  { isRead, problem, unlisted }: ListState,
  models: ReadonlyArray<ModelSpec>
): string => {
  if (models.length === 0) {
    return `No model answers yet, because the list of models at ${place} is not known: ${problem ?? "it is still being read"}.`
  }
  if (problem !== null)
    return `${place} should have ${nameModels(models)}, but its list of models can't be read: ${problem}.`
  if (!isRead) return `${place} should have ${nameModels(models)}, but has not answered yet.`
  return unlisted.length === 0
    ? `${place} has ${nameModels(models)}.`
    : `${place} answers, but doesn't list ${unlisted.slice(0, namedModelsMax).join(", ")}.`
}

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
        headers: {},
        tokenParameter: null,
        concurrentMax: null
      }
