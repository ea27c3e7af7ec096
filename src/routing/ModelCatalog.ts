import { Array as Arr, Context, Effect, Layer, type Scope } from "effect"
import type { ProviderHealth } from "../domain/Model.ts"
import { callDemoModel, demoModel } from "../providers/DemoModel.ts"
import type { ModelServer } from "../providers/ModelServer.ts"
import { openAiChat } from "../providers/OpenAiChat.ts"
import { isOpenAi } from "../providers/OpenAiHosts.ts"
import { openAiResponses } from "../providers/OpenAiResponses.ts"
import { makeProviderCircuits } from "../providers/ProviderCircuit.ts"
import { ProviderGate } from "../providers/ProviderGate.ts"
import { makeUpstream, type Upstream } from "../providers/Upstream.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import type { CatalogInvalid, PreparedCatalog } from "./CatalogFile.ts"
import { type CatalogEntry, connect, gateLimits, healthAt, type HealthOf } from "./Connections.ts"
import { makeFileCatalog } from "./FileCatalog.ts"
import { describeServer, keepModelServerList, type ListState } from "./ModelServerList.ts"
import type { ServerProbe } from "./ServerProbe.ts"

const openAiBaseUrl = "https://api.openai.com/v1"

/** The models of the settings, of a catalog file or of a model server's list. */
export class ModelCatalog extends Context.Service<
  ModelCatalog,
  {
    /**
     * The models to choose from. Where a server's list could not be read yet, it is requested once more,
     * within bounds.
     */
    readonly entries: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** The models that are known now; waits for nothing. */
    readonly known: Effect.Effect<ReadonlyArray<CatalogEntry>>
    /** Health by past requests; asks no server. */
    readonly healthOf: Effect.Effect<HealthOf>
    /** Health by past requests; asks no server. */
    readonly health: Effect.Effect<ReadonlyArray<ProviderHealth>>
    /** Asks each model server now, within bounds. */
    readonly probe: Effect.Effect<ReadonlyArray<ServerProbe>>
    /** True if no model is known because a server refuses the settings, such as the key. */
    readonly isRefused: Effect.Effect<boolean>
    /** A sentence for people: which models answer, or why none does. */
    readonly describe: Effect.Effect<string>
    /** Reads the file of the catalog again; null without one. */
    readonly prepare: Effect.Effect<PreparedCatalog | null, CatalogInvalid>
  }
>()("parley/routing/ModelCatalog") {
  static readonly layer: Layer.Layer<ModelCatalog, CatalogInvalid, AppConfig> = Layer.effect(
    ModelCatalog,
    Effect.gen(function* () {
      const { models: settings } = yield* AppConfig
      const openAi = openAiServer(settings)
      const unused = unusedModelSettings(settings)
      if (unused !== null) yield* Effect.logWarning(unused)
      if (settings.file !== null) return ModelCatalog.of(yield* makeFileCatalog(settings, settings.file))
      return ModelCatalog.of(openAi === null ? demoOnly : yield* fromServer(settings, openAi))
    })
  )
}

type Catalog = ModelCatalog["Service"]

const demoEntries = Effect.succeed([{ model: demoModel, stream: callDemoModel }])

const demoOnly: Catalog = {
  entries: demoEntries,
  known: demoEntries,
  ...healthAt([]),
  probe: Effect.succeed([]),
  isRefused: Effect.succeed(false),
  describe: Effect.succeed(
    `Only the built-in demo model ${demoModel.id} answers: a small program that is no language model. ` +
      "Set OPENAI_BASE_URL (and OPENAI_API_KEY) or PARLEY_MODELS_FILE for a real one."
  ),
  prepare: Effect.succeed(null)
}

const fromServer = Effect.fnUntraced(function* (
  settings: Settings["models"],
  server: ModelServer
): Effect.fn.Return<Catalog, never, Scope.Scope> {
  const upstream: Upstream = yield* makeUpstream(settings)
  const names = settings.openaiModel ?? []
  const list = yield* keepModelServerList(upstream, server, names)
  const gate = new ProviderGate(server.provider, gateLimits(server, settings), yield* makeProviderCircuits)
  const { entry, probe } = connect(upstream, server, settings, gate)
  const toEntries = Arr.map(entry)
  return {
    entries: Effect.map(list.models, toEntries),
    known: Effect.map(list.known, toEntries),
    ...healthAt([gate]),
    health: Effect.zipWith(gate.health, list.state, (health, state) => [withList(health, state)]),
    probe: Effect.map(
      Effect.flatMap(list.known, (known) => probe(names.length > 0 ? known : [])),
      Arr.of
    ),
    isRefused: Effect.zipWith(
      list.state,
      list.known,
      ({ isRefused }, known) => isRefused && known.length === 0
    ),
    describe: Effect.zipWith(list.firstState, list.known, (state, known) =>
      describeServer(server, state, known)
    ),
    prepare: Effect.succeed(null)
  }
})

/** The health that the list of models shows, until requests show more. */
const withList = (health: ProviderHealth, { isRead, problem }: ListState): ProviderHealth => {
  if (health.state !== "unknown") return health
  if (problem !== null) return { ...health, state: "failing", failure: `list of models: ${problem}` }
  return isRead ? { ...health, state: "ok" } : health
}

/** A sentence about settings that have no effect beside the others, if there are any. */
export const unusedModelSettings = (settings: Settings["models"]): string | null => {
  const isServerNamed = settings.openaiBaseUrl !== null || settings.openaiApiKey !== null
  if (settings.file !== null && (isServerNamed || settings.openaiModel !== null))
    return "PARLEY_MODELS_FILE is set, so OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL are not used."
  return settings.openaiModel === null || isServerNamed
    ? null
    : "OPENAI_MODEL is set, but neither OPENAI_BASE_URL nor OPENAI_API_KEY is, so it is not used."
}

/**
 * The server that the settings name, if they name one. OpenAI itself is asked by Responses, because its
 * models have no tools beside their reasoning on Chat Completions.
 */
export const openAiServer = ({
  openaiApiKey,
  openaiBaseUrl
}: Pick<Settings["models"], "openaiApiKey" | "openaiBaseUrl">): ModelServer | null => {
  if (openaiBaseUrl === null && openaiApiKey === null) return null
  const baseUrl = new URL(openaiBaseUrl ?? openAiBaseUrl)
  return {
    provider: "openai",
    protocol: isOpenAi(baseUrl) ? openAiResponses : openAiChat,
    baseUrl,
    key: openaiApiKey,
    headers: {},
    tokenParameter: null,
    family: null,
    encryptedReasoning: null,
    concurrentMax: null,
    models: new Map(),
    sdk: null
  }
}
